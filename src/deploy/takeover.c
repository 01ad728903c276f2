#include "deploy/takeover.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "deploy/clock.h"

#define ANSWER_MS 2000
#define TRIES 10
#define BETWEEN_MS 500

/* The mode that owns the robot; "" when released. */
static hrc_status owner(wire *w, char name[64], hrc_error *err)
{
    int code;
    char reply[WIRE_REPLY];
    TRY(wire_call(w, SWITCHER_CHECK, "{}", ANSWER_MS, &code, reply, err));
    if (code != 0)
        return fail(err, HRC_EFILE, "motion switcher: asked for the service that owns the robot, it answered with error %d",
                    code);
    json_t *said = json_loads(reply, 0, NULL);
    const char *text = json_string_value(json_object_get(said, "name"));
    hrc_status status = HRC_OK;
    if (text)
        snprintf(name, 64, "%s", text);
    else
        status = fail(err, HRC_EFORMAT, "motion switcher: answered \"%.80s\", expected an object with a name",
                      reply);
    json_decref(said);
    return status;
}

hrc_status takeover(wire *w, hrc_error *err)
{
    char name[64], reply[WIRE_REPLY];
    int code;
    for (int i = 0; i < TRIES; i++) {
        TRY(owner(w, name, err));
        if (!name[0]) return HRC_OK;
        TRY(wire_call(w, SWITCHER_RELEASE, "{}", ANSWER_MS, &code, reply, err));
        if (code != 0)
            return fail(err, HRC_EFILE, "motion switcher: mode %s was to let go, it answered with error %d",
                        name, code);
        TRY(owner(w, name, err));
        if (!name[0]) return HRC_OK;
        clock_sleep_until(clock_now_ns() + BETWEEN_MS * NS_PER_MS);
    }
    return fail(err, HRC_EFILE, "motion switcher: mode %s does not let go of the robot", name);
}
