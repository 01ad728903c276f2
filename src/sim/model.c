/* From the robot's tables to a compiled MuJoCo model that is checked against them. */
#include "sim/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "robot/mjcf.h"

static int warning_count;

static void count_warning(const char *message)
{
    (void)message; /* MuJoCo's own handler would print and leave a log file in the current folder */
    warning_count++;
}

/* Files in memory: the call was renamed in MuJoCo 3. */
static int add_buffer(mjVFS *files, const char *name, const text *content)
{
#if mjVERSION_HEADER >= 300
    return mj_addBufferVFS(files, name, content->data, (int)content->size);
#else
    if (mj_makeEmptyFileVFS(files, name, (int)content->size) != 0) return -1;
    memcpy(files->filedata[files->nfile - 1], content->data, content->size);
    return 0;
#endif
}

/* The rest of the code relies on these indices. */
static hrc_status check_order(const mjModel *m, hrc_error *err)
{
    if (m->nbody != G1_LINKS + 1 || m->nu != HRC_JOINTS || m->nq != HRC_NQ || m->nv != HRC_NV)
        return fail(err, HRC_EFORMAT, "g1.xml: %d bodies, %d motors, nq %d, nv %d, expected %d, %d, %d, %d",
                    m->nbody, m->nu, m->nq, m->nv, G1_LINKS + 1, HRC_JOINTS, HRC_NQ, HRC_NV);
    for (int i = 0; i < G1_LINKS; i++) {
        const char *name = mj_id2name(m, mjOBJ_BODY, i + 1);
        if (!name || strcmp(name, G1_LINK[i].name))
            return fail(err, HRC_EFORMAT, "g1.xml: body %d is %s, expected %s", i + 1,
                        name ? name : "(unnamed)", G1_LINK[i].name);
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        const char *name = mj_id2name(m, mjOBJ_JOINT, m->actuator_trnid[2 * i]);
        if (!name || strcmp(name, G1_JOINT[i].name))
            return fail(err, HRC_EFORMAT, "g1.xml: motor %d drives %s, expected %s", i,
                        name ? name : "(unnamed)", G1_JOINT[i].name);
    }
    return HRC_OK;
}

hrc_status model_compile(mjModel **out, int *warnings, const config *cfg, hrc_error *err)
{
    mjcf_options options = mjcf_from_config(cfg);
    text xml = {0};
    mjcf_write(&xml, &options);
    if (!text_ok(&xml)) {
        text_free(&xml);
        return fail(err, HRC_ENOMEM, "g1.xml: out of memory");
    }
    static mjVFS files; /* half a megabyte: too large for the stack */
    char message[400] = "";
    mju_user_warning = count_warning;
    warning_count = 0;
    mj_defaultVFS(&files);
    mjModel *model = add_buffer(&files, "g1.xml", &xml) == 0
                         ? mj_loadXML("g1.xml", &files, message, sizeof message)
                         : NULL;
    mj_deleteVFS(&files);
    text_free(&xml);
    if (!model) return fail(err, HRC_EFORMAT, "g1.xml: MuJoCo refuses the model: %s", message);
    hrc_status status = check_order(model, err);
    if (status < 0) {
        mj_deleteModel(model);
        return status;
    }
    *warnings = warning_count + (message[0] != 0); /* a warning at load time comes as the message */
    *out = model;
    return HRC_OK;
}
