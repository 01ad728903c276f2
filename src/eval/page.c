/* The data of the replay page as JSON, and the page. */
#include "eval/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

/* ---- HTML ---- */

#define MAX_FILLINGS 16

char *html_script_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return NULL;
    size_t angles = 0;
    for (const char *s = text; *s; s++) angles += *s == '<';
    char *out = malloc(strlen(text) + 5 * angles + 1), *end = out;
    for (const char *s = text; out && *s; s++) {
        if (*s == '<')
            end = (char *)memcpy(end, "\\u003c", 6) + 6;
        else
            *end++ = *s;
    }
    if (out) *end = 0;
    free(text);
    return out;
}

/* Cut the template at its marks and put the texts in their place; -1 when a mark is missing. */
static int fill_template(file_piece *pieces, file_piece page, const html_filling *fillings, int n)
{
    const char *at = page.data, *end = at + page.size;
    int count = 0;
    for (int i = 0; i < n; i++) {
        const char *mark = strstr(at, fillings[i].mark);
        if (!mark) return -1;
        pieces[count++] = (file_piece){at, (size_t)(mark - at)};
        pieces[count++] = fillings[i].text;
        at = mark + strlen(fillings[i].mark);
    }
    pieces[count++] = (file_piece){at, (size_t)(end - at)};
    return count;
}

/* The same in memory, zero-terminated; the caller frees it. */
static hrc_status html_text(char **out, size_t *size, file_piece page, const html_filling *fillings, int n,
                            hrc_error *err)
{
    file_piece pieces[2 * MAX_FILLINGS + 1];
    int count = n <= MAX_FILLINGS ? fill_template(pieces, page, fillings, n) : -1;
    if (count < 0) return fail(err, HRC_EINVAL, "a page template lacks one of its marks");
    *size = 0;
    for (int i = 0; i < count; i++) *size += pieces[i].size;
    char *at = *out = malloc(*size + 1);
    if (!at) return fail(err, HRC_ENOMEM, "page: out of memory");
    for (int i = 0; i < count; i++) at = (char *)memcpy(at, pieces[i].data, pieces[i].size) + pieces[i].size;
    *at = 0;
    return HRC_OK;
}

hrc_status html_write(const char *path, file_piece page, const html_filling *fillings, int n, size_t *bytes,
                      hrc_error *err)
{
    file_piece pieces[2 * MAX_FILLINGS + 1];
    int count = n <= MAX_FILLINGS ? fill_template(pieces, page, fillings, n) : -1;
    if (count < 0) return fail(err, HRC_EINVAL, "%s: the page template lacks one of its marks", path);
    TRY(file_write(path, pieces, count, err));
    if (bytes) *bytes = 0;
    for (int i = 0; bytes && i < count; i++) *bytes += pieces[i].size;
    return HRC_OK;
}

page_item page_item_of(const rollout *r)
{
    return (page_item){.name = r->name,
                       .fps = r->fps,
                       .n = r->n,
                       .qpos = r->qpos,
                       .nref = r->ref ? r->n : 0,
                       .ref = r->ref,
                       .nevents = r->nevents,
                       .events = r->events,
                       .signals = r->signals,
                       .plan = r->plan};
}

/* ---- The robot. ---- */

static json_t *vector_json(const double *x, int n)
{
    json_t *out = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(out, json_real(x[i]));
    return out;
}

json_t *page_robot(void)
{
    static const char *const SHAPES[] = {
        [G1_BOX] = "box", [G1_CAPSULE] = "capsule", [G1_CYLINDER] = "cylinder", [G1_ELLIPSOID] = "ellipsoid"};
    json_t *links = json_array(), *visuals = json_array();
    for (int i = 0; i < G1_LINKS; i++) {
        const g1_link *l = &G1_LINK[i];
        json_array_append_new(links, json_pack("{s:s, s:i, s:o, s:o, s:o}", "name", l->name, "parent",
                                               l->parent, "pos", vector_json(l->pos, 3), "quat",
                                               vector_json(l->quat, 4), "axis", vector_json(l->axis, 3)));
    }
    for (int i = 0; i < G1_NVISUAL; i++) {
        const g1_visual *v = &G1_VISUAL[i];
        json_array_append_new(visuals,
                              json_pack("{s:i, s:s, s:s, s:o, s:o, s:o}", "link", v->link, "shape",
                                        SHAPES[v->shape], "colour", v->colour == G1_DARK ? "dark" : "light",
                                        "size", vector_json(v->size, 3), "pos", vector_json(v->pos, 3),
                                        "euler", vector_json(v->euler, 3)));
    }
    return json_pack("{s:o, s:o}", "links", links, "visuals", visuals);
}

/* ---- Frames. ---- */

static json_t *base64_json(const void *data, size_t size)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = data;
    size_t length = (size + 2) / 3 * 4;
    char *text = malloc(length + 1), *out = text;
    if (!text) return NULL;
    for (size_t i = 0; i < size; i += 3) {
        unsigned b1 = i + 1 < size ? in[i + 1] : 0, b2 = i + 2 < size ? in[i + 2] : 0;
        unsigned bits = (unsigned)in[i] << 16 | b1 << 8 | b2;
        *out++ = DIGITS[bits >> 18];
        *out++ = DIGITS[bits >> 12 & 63];
        *out++ = i + 1 < size ? DIGITS[bits >> 6 & 63] : '=';
        *out++ = i + 2 < size ? DIGITS[bits & 63] : '=';
    }
    json_t *value = json_stringn_nocheck(text, length);
    free(text);
    return value;
}

#define STEPS 65535.0
#define MAX_ERROR 1e-4 /* half a step: 0.1 mm, 0.1 mrad */

/* Channel by channel as 16-bit steps between the smallest and the largest value. A motion that roams so
 * far that a step would show is stored as float32 instead. */
static json_t *frames_json(const float *frames, int n)
{
    float low[HRC_NQ], high[HRC_NQ], widest = 0;
    memcpy(low, frames, sizeof low);
    memcpy(high, frames, sizeof high);
    size_t count = (size_t)n * HRC_NQ;
    for (size_t i = 0; i < count; i++) {
        low[i % HRC_NQ] = fminf(low[i % HRC_NQ], frames[i]);
        high[i % HRC_NQ] = fmaxf(high[i % HRC_NQ], frames[i]);
    }
    for (int k = 0; k < HRC_NQ; k++) widest = fmaxf(widest, high[k] - low[k]);
    if (widest / STEPS / 2 > MAX_ERROR)
        return json_pack("{s:s, s:o}", "type", "f32", "data", base64_json(frames, count * sizeof *frames));
    uint16_t *steps = malloc(count * sizeof *steps);
    if (!steps) return NULL;
    json_t *lows = json_array(), *sizes = json_array();
    for (int k = 0; k < HRC_NQ; k++) {
        json_array_append_new(lows, json_real((double)low[k]));
        json_array_append_new(sizes, json_real(((double)high[k] - (double)low[k]) / STEPS));
    }
    for (size_t i = 0; i < count; i++) {
        double range = (double)high[i % HRC_NQ] - (double)low[i % HRC_NQ];
        double share = range > 0 ? ((double)frames[i] - (double)low[i % HRC_NQ]) / range : 0;
        steps[i] = (uint16_t)lrint(STEPS * share);
    }
    json_t *data = base64_json(steps, count * sizeof *steps);
    free(steps);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "u16", "low", lows, "step", sizes, "data", data);
}

/* Every second frame of the plans: they are made as often. */
static json_t *plan_json(const page_item *item)
{
    enum { STEP = 2, SIZE = HRC_KEYFRAMES * HRC_NQ };
    const int n = (item->n + STEP - 1) / STEP;
    float *some = malloc(sizeof *some * SIZE * (size_t)n);
    if (!some) return NULL;
    for (int i = 0; i < n; i++)
        memcpy(some + (size_t)i * SIZE, item->plan + (size_t)i * STEP * SIZE, SIZE * sizeof *some);
    json_t *frames = frames_json(some, n * HRC_KEYFRAMES);
    free(some);
    return json_pack("{s:i, s:i, s:o}", "every", STEP, "keyframes", HRC_KEYFRAMES, "frames", frames);
}

/* ---- The data. ---- */

static hrc_status check_frames(const float *frames, int n, const char *what, int item, hrc_error *err)
{
    for (size_t i = 0; i < (size_t)n * HRC_NQ; i++)
        if (!isfinite(frames[i]))
            return fail(err, HRC_ENONFINITE, "page item %d: %s frame %zu, column %zu is not finite", item,
                        what, i / HRC_NQ, i % HRC_NQ);
    return HRC_OK;
}

static hrc_status check_item(const page_item *item, int i, hrc_error *err)
{
    if (item->n < 1 || !(item->fps > 0) || !isfinite(item->fps))
        return fail(err, HRC_EINVAL, "page item %d: %d frames at %g Hz, expected at least 1 and a rate", i,
                    item->n, item->fps);
    TRY(check_frames(item->qpos, item->n, "robot", i, err));
    if (item->ref) TRY(check_frames(item->ref, item->nref, "reference", i, err));
    if (item->beside) TRY(check_frames(item->beside, item->n, "second robot", i, err));
    return HRC_OK;
}

static bool planned(const page_item *item)
{
    for (int i = 0; item->signals && i < item->n; i++)
        if (item->signals[i * SIGNALS + SIGNAL_PLANNED] > 0) return true;
    return false;
}

/* NULL when out of memory or when a text is not UTF-8. */
static json_t *item_json(const page_item *item)
{
    json_t *events = json_array();
    for (int k = 0; k < item->nevents; k++)
        if (json_array_append_new(events, json_pack("{s:f, s:s}", "t", item->events[k].t_s, "text",
                                                    item->events[k].text)) < 0) {
            json_decref(events);
            return NULL;
        }
    json_t *ref = item->ref && item->nref > 0 ? frames_json(item->ref, item->nref) : json_null();
    json_t *out = json_pack("{s:s, s:f, s:o, s:o, s:o}", "name", item->name, "fps", item->fps, "qpos",
                            frames_json(item->qpos, item->n), "ref", ref, "events", events);
    if (out && item->signals)
        json_object_set_new(out, "signals",
                            base64_json(item->signals, sizeof(float) * SIGNALS * (size_t)item->n));
    if (out && item->label) json_object_set_new(out, "label", json_string(item->label));
    if (out && item->beside)
        json_object_set_new(out, "beside",
                            json_pack("{s:s, s:s, s:o}", "label", item->label, "besideLabel",
                                      item->beside_label, "qpos", frames_json(item->beside, item->n)));
    if (out && item->plan && planned(item)) json_object_set_new(out, "plan", plan_json(item));
    return out;
}

hrc_status page_json(json_t **out, const page_item *items, int n, hrc_error *err)
{
    json_t *list = json_array();
    hrc_status status = HRC_OK;
    for (int i = 0; i < n && status == HRC_OK; i++) {
        status = check_item(&items[i], i, err);
        if (status == HRC_OK && json_array_append_new(list, item_json(&items[i])) < 0)
            status = fail(err, HRC_EINVAL,
                          "page item %d: out of memory, or its name or an event is not UTF-8 text", i);
    }
    *out = json_pack("{s:o, s:o}", "robot", page_robot(), "items", list);
    if (status == HRC_OK && !*out) status = fail(err, HRC_ENOMEM, "page: out of memory");
    if (status < 0) json_decref(*out);
    return status;
}

/* ---- The pages. ---- */

/* path NULL: into *text. */
static hrc_status make_page(const char *path, char **text, size_t *bytes, const page_item *items, int n,
                            hrc_error *err)
{
    json_t *json;
    TRY(page_json(&json, items, n, err));
    char *data = html_script_text(json);
    json_decref(json);
    if (!data) return fail(err, HRC_ENOMEM, "page: out of memory");
    const html_filling fillings[] = {
        {"@viewer.css@", EMBEDDED(viewer_css)}, {"@replay_stage.html@", EMBEDDED(replay_stage_html)},
        {"@data@", {data, strlen(data)}},       {"@three.min.js@", EMBEDDED(three_js)},
        {"@viewer.js@", EMBEDDED(viewer_js)},   {"@replay.js@", EMBEDDED(replay_js)},
    };
    const file_piece template = EMBEDDED(replay_html);
    hrc_status status = path ? html_write(path, template, fillings, COUNT(fillings), bytes, err)
                             : html_text(text, bytes, template, fillings, COUNT(fillings), err);
    free(data);
    return status;
}

hrc_status page_write(const char *path, const page_item *items, int n, size_t *bytes, hrc_error *err)
{
    return make_page(path, NULL, bytes, items, n, err);
}

hrc_status page_text(char **out, size_t *size, const page_item *items, int n, hrc_error *err)
{
    return make_page(NULL, out, size, items, n, err);
}

hrc_status page_live(char **out, size_t *size, hrc_error *err)
{
    const html_filling fillings[] = {
        {"@viewer.css@", EMBEDDED(viewer_css)}, {"@play.css@", EMBEDDED(play_css)},
        {"@three.min.js@", EMBEDDED(three_js)}, {"@viewer.js@", EMBEDDED(viewer_js)},
        {"@play.js@", EMBEDDED(play_js)},
    };
    const file_piece template = EMBEDDED(play_html);
    return html_text(out, size, template, fillings, COUNT(fillings), err);
}
