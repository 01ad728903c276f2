/* Policies of BeyondMimic's family: 154 numbers, or 160 with where the robot is. One reference frame, that of
 * now. What a file says of itself is used (metadata, or a deploy.yaml); where it is silent: the orders below
 * by the number of inputs, and the G1's own gains, pose and action scale, which are those of this family. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "robot/fk.h"
#include "robot/g1.h"
#include "track/onnx.h"
#include "track/others_parts.h"

typedef enum {
    COMMAND,
    ANCHOR_POS,
    ANCHOR_ORI,
    LIN_VEL,
    ANG_VEL,
    GRAVITY,
    JOINT_POS,
    JOINT_VEL,
    ACTION,
    TERMS
} term;

static const struct {
    int size;
    const char *names[4];
} TERM[TERMS] = {
    [COMMAND] = {2 * HRC_JOINTS, {"command", "motion_command"}},
    [ANCHOR_POS] = {3, {"motion_anchor_pos_b", "motion_ref_pos_b"}},
    [ANCHOR_ORI] = {6, {"motion_anchor_ori_b", "motion_ref_ori_b"}},
    [LIN_VEL] = {3, {"base_lin_vel"}},
    [ANG_VEL] = {3, {"base_ang_vel"}},
    [GRAVITY] = {3, {"projected_gravity"}},
    [JOINT_POS] = {HRC_JOINTS, {"joint_pos", "joint_pos_rel", "dof_pos"}},
    [JOINT_VEL] = {HRC_JOINTS, {"joint_vel", "joint_vel_rel", "dof_vel"}},
    [ACTION] = {HRC_JOINTS, {"actions", "last_action", "action"}},
};

/* ---- What the observation is made of ---- */

static hrc_status add_term(others_model *m, const char *name, hrc_error *err)
{
    for (int t = 0; t < TERMS; t++)
        for (int k = 0; k < COUNT(TERM[t].names) && TERM[t].names[k]; k++)
            if (!strcmp(TERM[t].names[k], name) && m->nterms < OTHERS_TERMS) {
                m->history[m->nterms] = 1;
                m->terms[m->nterms++] = t;
                return HRC_OK;
            }
    return fail(err, HRC_EFORMAT, "%s: observation \"%.60s\" (number %d) is not known here", m->file.path,
                name, m->nterms);
}

static hrc_status add_terms(others_model *m, const char *list, hrc_error *err)
{
    char word[80];
    while (list_word(&list, word, sizeof word)) TRY(add_term(m, word, err));
    return HRC_OK;
}

/* holosoma sorts its terms by name and has kp and kd as its metadata. */
static hrc_status guess_terms(others_model *m, hrc_error *err)
{
    const size_t n = onnx_input_count(m->program, m->observation);
    if (n == 154 && onnx_metadata(&m->file, "dof_names"))
        return add_terms(m, "actions,base_ang_vel,dof_pos,dof_vel,motion_command,motion_ref_ori_b", err);
    if (n == 154)
        return add_terms(m, "command,motion_anchor_ori_b,base_ang_vel,joint_pos,joint_vel,actions", err);
    if (n == 160)
        return add_terms(
            m,
            "command,motion_anchor_pos_b,motion_anchor_ori_b,base_lin_vel,base_ang_vel,joint_pos,joint_vel,"
            "actions",
            err);
    return fail(err, HRC_EFORMAT,
                "%s: input \"obs\" has %zu numbers and no observation_names, expected 154 or 160",
                m->file.path, n);
}

static hrc_status check_terms(const others_model *m, hrc_error *err)
{
    const size_t found = onnx_input_count(m->program, m->observation);
    size_t n = 0;
    for (int i = 0; i < m->nterms; i++) n += (size_t)(TERM[m->terms[i]].size * m->history[i]);
    if (n == found) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s: its %d observations have %zu numbers, but the input \"obs\" takes %zu",
                m->file.path, m->nterms, n, found);
}

/* ---- Metadata ---- */

static const char *either(const onnx_file *f, const char *a, const char *b)
{
    return onnx_metadata(f, a) ? onnx_metadata(f, a) : onnx_metadata(f, b);
}

/* "1", "1.0", "10"; some write 0 for none. */
static hrc_status set_history(others_model *m, int which, const char *word, hrc_error *err)
{
    char *end;
    const double n = strtod(word, &end);
    if (which >= m->nterms || end == word || *end || !(n >= 0 && n <= OTHERS_HISTORY) || n != floor(n))
        return fail(err, HRC_EFORMAT, "%s: observation %d of %d has a history of %s, expected 1 to %d",
                    m->file.path, which, m->nterms, word, OTHERS_HISTORY);
    m->history[which] = n > 1 ? (int)n : 1;
    return HRC_OK;
}

static hrc_status set_histories(others_model *m, const char *list, hrc_error *err)
{
    char word[80];
    for (int i = 0; list_word(&list, word, sizeof word); i++) TRY(set_history(m, i, word, err));
    return HRC_OK;
}

/* Our own export: how many frames its motion has. */
static hrc_status read_code(others_model *m, hrc_error *err)
{
    const char *code = onnx_metadata(&m->file, "frame_code"), *frames = onnx_metadata(&m->file, "frames");
    if (!code) return HRC_OK;
    m->coded = frames ? strtoll(frames, NULL, 10) : 0;
    m->token = onnx_program_output(m->program, "token");
    if (strtof(code, NULL) != ONNX_FRAME_CODE || m->coded < 1)
        return fail(err, HRC_EFORMAT, "%s: frame_code is \"%.40s\" of \"%.40s\" frames, expected %g of some",
                    m->file.path, code, frames ? frames : "(missing)", (double)ONNX_FRAME_CODE);
    return HRC_OK;
}

static hrc_status read_metadata(others_model *m, hrc_error *err)
{
    const onnx_file *f = &m->file;
    const char *joints = either(f, "joint_names", "dof_names"), *kp = either(f, "joint_stiffness", "kp"),
               *kd = either(f, "joint_damping", "kd"), *q0 = onnx_metadata(f, "default_joint_pos"),
               *scale = onnx_metadata(f, "action_scale"), *terms = onnx_metadata(f, "observation_names"),
               *anchor = onnx_metadata(f, "anchor_body_name"),
               *history = onnx_metadata(f, "observation_history_lengths");
    if (joints) TRY(g1_joint_order(m->joint, joints, m->file.path, err));
    if (kp) TRY(joint_numbers(m, kp, "metadata joint_stiffness", m->kp, err));
    if (kd) TRY(joint_numbers(m, kd, "metadata joint_damping", m->kd, err));
    if (q0) TRY(joint_numbers(m, q0, "metadata default_joint_pos", m->q0, err));
    if (scale) TRY(joint_numbers(m, scale, "metadata action_scale", m->scale, err));
    for (int i = 0; i < HRC_JOINTS && !scale && onnx_metadata(f, "dof_names"); i++)
        m->scale[i] = 1; /* in the graph */
    if (anchor && (m->anchor = g1_link_index(anchor)) < 0)
        return fail(err, HRC_EFORMAT, "%s: anchor_body_name is \"%.60s\", which the G1 has not", f->path,
                    anchor);
    if (terms) TRY(add_terms(m, terms, err));
    if (history && m->nterms) TRY(set_histories(m, history, err));
    return read_code(m, err);
}

/* ---- deploy.yaml: the few entries of it that matter ---- */

/* The text after "key:" on a line of its own, indented by `indent`, from `from` on; NULL: none. */
static const char *yaml_entry(const char *from, int indent, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = from; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if ((int)strspn(line, " ") == indent && !strncmp(line + indent, key, n) &&
            line[(size_t)indent + n] == ':')
            return line + (size_t)indent + n + 1;
    return NULL;
}

static hrc_status yaml_numbers(const others_model *m, const char *text, int indent, const char *key,
                               double *out, hrc_error *err)
{
    const char *entry = yaml_entry(text, indent, key), *end = entry ? strchr(entry, ']') : NULL;
    char what[80];
    snprintf(what, sizeof what, "deploy.yaml: %s", key);
    if (!end) return fail(err, HRC_EFORMAT, "%s: %s is missing, expected a list", m->file.path, what);
    char *list = strndup(entry, (size_t)(end - entry));
    if (!list) return fail(err, HRC_ENOMEM, "%s: out of memory", m->file.path);
    hrc_status status = joint_numbers(m, list, what, out, err);
    free(list);
    return status;
}

/* What is said of the last term: its history, and that nothing else is done to it. */
static hrc_status yaml_of_term(others_model *m, const char *line, hrc_error *err)
{
    static const char HISTORY[] = "    history_length:", SCALE[] = "    scale:", CLIP[] = "    clip:";
    char word[80];
    const char *history = line + sizeof HISTORY - 1, *scale = line + sizeof SCALE - 1,
               *clip = line + sizeof CLIP - 1;
    if (m->nterms == 0) return HRC_OK;
    if (!strncmp(line, HISTORY, sizeof HISTORY - 1) && list_word(&history, word, sizeof word))
        return set_history(m, m->nterms - 1, word, err);
    if (!strncmp(line, CLIP, sizeof CLIP - 1) && list_word(&clip, word, sizeof word) && strcmp(word, "null"))
        return fail(err, HRC_EFORMAT, "%s: deploy.yaml: observation %d is clipped at %s, expected null",
                    m->file.path, m->nterms - 1, word);
    if (strncmp(line, SCALE, sizeof SCALE - 1)) return HRC_OK;
    const char *end = scale + strcspn(scale, "\n");
    if (scale[strspn(scale, " ")] == '[') end = scale + strcspn(scale, "]");
    while (scale < end && list_word(&scale, word, sizeof word) && scale <= end)
        if (strcmp(word, "null") && strtod(word, NULL) != 1)
            return fail(err, HRC_EFORMAT, "%s: deploy.yaml: observation %d is scaled by %s, expected 1",
                        m->file.path, m->nterms - 1, word);
    return HRC_OK;
}

/* Entries one level below "observations:", in their order. */
static hrc_status yaml_terms(others_model *m, const char *text, hrc_error *err)
{
    const char *line = yaml_entry(text, 0, "observations");
    while (line && (line = strchr(line, '\n'))) {
        line++;
        const size_t indent = strspn(line, " "), n = strcspn(line, ":\n");
        char name[80];
        if (indent == 0 && *line != '\n') break;
        TRY(yaml_of_term(m, line, err));
        if (indent != 2 || line[n] != ':') continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - indent), line + indent);
        TRY(add_term(m, name, err));
    }
    return HRC_OK;
}

static hrc_status use_yaml(others_model *m, const char *text, hrc_error *err)
{
    double order[HRC_JOINTS];
    TRY(yaml_numbers(m, text, 0, "joint_ids_map", order, err));
    for (int i = 0; i < HRC_JOINTS; i++)
        if (order[i] != i)
            return fail(err, HRC_EFORMAT,
                        "%s: deploy.yaml: joint_ids_map has %g as number %d, expected the G1's order",
                        m->file.path, order[i], i);
    TRY(yaml_numbers(m, text, 0, "stiffness", m->kp, err));
    TRY(yaml_numbers(m, text, 0, "damping", m->kd, err));
    TRY(yaml_numbers(m, text, 0, "default_joint_pos", m->q0, err));
    TRY(yaml_numbers(m, text, 4, "scale", m->scale, err)); /* of actions, which come first */
    return m->nterms ? HRC_OK : yaml_terms(m, text, err);  /* the file itself has said them */
}

/* Beside the policy, or where Unitree's projects have it: ../params/deploy.yaml. */
static hrc_status read_yaml(others_model *m, hrc_error *err)
{
    static const char *const PLACE[] = {"deploy.yaml", "../params/deploy.yaml"};
    const int folder = (int)(file_name(m->file.path) - m->file.path);
    file_view bytes = {0};
    for (int i = 0; i < COUNT(PLACE) && !bytes.data; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s%s", folder, m->file.path, PLACE[i]);
        if (file_map(path, &bytes, NULL) < 0) continue;
    }
    if (!bytes.data) return HRC_OK;
    char *text = strndup(bytes.data, bytes.size);
    file_unmap(&bytes);
    hrc_status status =
        text ? use_yaml(m, text, err) : fail(err, HRC_ENOMEM, "%s: out of memory", m->file.path);
    free(text);
    return status;
}

hrc_status mimic_settings(others_model *m, hrc_error *err)
{
    m->anchor = G1_TORSO;
    TRY(read_metadata(m, err));
    const bool named = either(&m->file, "joint_names", "dof_names") != NULL;
    if (!named) TRY(read_yaml(m, err));
    if (!m->nterms) TRY(guess_terms(m, err));
    snprintf(m->about, sizeof m->about, "a policy of BeyondMimic's family, %zu observations",
             onnx_input_count(m->program, m->observation));
    return check_terms(m, err);
}

/* ---- Observing ---- */

typedef struct {
    float pos[3], ori[6];
} anchor_error;

/* The reference's anchor in the frame of the robot's. */
static void compare_anchors(anchor_error *out, int link, const g1_state *s, const hrc_frame *ref)
{
    fk_pose robot, aim;
    double qpos[HRC_NQ], turn[4], gap[3], local[3], columns[6];
    memcpy(qpos, s->pos, sizeof s->pos);
    memcpy(qpos + 3, s->quat, sizeof s->quat);
    memcpy(qpos + 7, s->q, sizeof s->q);
    fk(&robot, qpos);
    fk_frame(&aim, ref->qpos);
    for (int i = 0; i < 3; i++) gap[i] = aim.pos[link][i] - robot.pos[link][i];
    quat_rotate_inv(local, robot.quat[link], gap);
    quat_local(turn, robot.quat[link], aim.quat[link]);
    quat_to_6d(columns, turn);
    for (int i = 0; i < 3; i++) out->pos[i] = (float)local[i];
    for (int i = 0; i < 6; i++) out->ori[i] = (float)columns[i];
}

static void put(float *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = (float)from[i];
}

/* Which row of the motion inside: what a runner shows carries its number. */
static void add_code(const others_model *m, const others_memory *memory, float speed[HRC_JOINTS])
{
    if (m->coded) onnx_frame_code(speed, memory->steps < m->coded ? memory->steps : m->coded - 1);
}

/* A term's present numbers, with those before them. */
static int remember(const others_model *m, others_memory *memory, int k, float *observation, const float *now)
{
    const int size = TERM[m->terms[k]].size, n = m->history[k];
    float(*past)[2 * HRC_JOINTS] = memory->past[k];
    for (int i = 0; i < n; i++) {
        const float *from = i < n - 1 && memory->begun ? past[i + 1] : now;
        memmove(past[i], from, (size_t)size * sizeof *now);
        memcpy(observation + (size_t)i * (size_t)size, past[i], (size_t)size * sizeof *now);
    }
    return n * size;
}

void mimic_observe(const others_model *m, others_memory *memory, float *observation, const g1_state *s,
                   const hrc_frame window[HRC_WINDOW])
{
    const hrc_frame *ref = &window[0];
    anchor_error anchor;
    compare_anchors(&anchor, m->anchor, s, ref);
    for (int k = 0; k < m->nterms; k++) {
        float now[2 * HRC_JOINTS], *to = now;
        const term t = (term)m->terms[k];
        switch (t) {
        case ANCHOR_POS: memcpy(to, anchor.pos, sizeof anchor.pos); break;
        case ANCHOR_ORI: memcpy(to, anchor.ori, sizeof anchor.ori); break;
        case LIN_VEL: put(to, s->lin_vel, 3); break;
        case ANG_VEL: put(to, s->ang_vel, 3); break;
        case GRAVITY: put(to, s->gravity, 3); break;
        case ACTION: memcpy(to, memory->last, sizeof memory->last); break;
        default:
            for (int i = 0; i < HRC_JOINTS; i++) {
                const int j = m->joint[i];
                if (t == COMMAND) to[i] = ref->qpos[7 + j], to[HRC_JOINTS + i] = ref->qvel[6 + j];
                if (t == JOINT_POS) to[i] = (float)(s->q[j] - m->q0[j]);
                if (t == JOINT_VEL) to[i] = (float)s->qd[j];
            }
        }
        if (t == COMMAND) add_code(m, memory, now + HRC_JOINTS);
        observation += remember(m, memory, k, observation, now);
    }
}
