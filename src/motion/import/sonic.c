/* SONIC's folders: joint_pos.csv (29 columns, Isaac's order, rad), body_pos.csv and body_quat.csv (w,x,y,z)
 * of some bodies, joint_vel.csv, each with a header; metadata.txt lists which of Isaac's bodies they are. 50
 * frames a second. Some folders have the pelvis alone. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/formats.h"
#include "motion/import/tracked.h"

#define USUAL_FPS 50

static hrc_status read_table(csv_table *t, const char *folder, const char *name, arena *memory,
                             hrc_error *err)
{
    char path[4200];
    file_view bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    TRY(file_map(path, &bytes, err));
    hrc_status status = csv_table_parse(t, path, file_text(bytes), memory, err);
    file_unmap(&bytes);
    return status;
}

/* A table as an array of these sizes. */
static npy as_array(const csv_table *t, int last)
{
    npy a = {.kind = 'f', .item = 4, .ndim = last ? 3 : 2, .data = (const char *)t->values};
    a.shape[0] = t->rows;
    a.shape[1] = last ? t->columns / last : t->columns;
    a.shape[2] = last;
    a.count = (int64_t)t->rows * t->columns;
    return a;
}

/* The numbers between brackets behind "Body part indexes": link l is body k of the file when Isaac's index of
 * l is the k-th of them. Returns how many there are; 0 without such a list. */
static int read_indexes(tracked *m, const char *folder)
{
    char path[4200], text[4096];
    file_view bytes;
    snprintf(path, sizeof path, "%s/metadata.txt", folder);
    if (file_map(path, &bytes, NULL) < 0) return 0;
    size_t size = bytes.size < sizeof text - 1 ? bytes.size : sizeof text - 1;
    if (size) memcpy(text, bytes.data, size);
    text[size] = 0;
    file_unmap(&bytes);
    const char *at = strstr(text, "Body part indexes");
    at = at ? strchr(at, '[') : NULL;
    int n = 0;
    while (at && *++at && *at != ']') {
        if (!isdigit((unsigned char)*at)) continue;
        char *end;
        long index = strtol(at, &end, 10);
        for (int l = 0; l < G1_LINKS; l++)
            if (index == (l ? 1 + G1_ISAAC_TO_MUJOCO[l - 1] : 0)) m->body[ORDER_NAMED][l] = n;
        n++;
        at = end - 1;
    }
    return n;
}

static hrc_status check_tables(const csv_table *q, const csv_table *pos, const csv_table *quat,
                               const char *folder, hrc_error *err)
{
    if (q->columns != HRC_JOINTS || q->rows < 1)
        return fail(err, HRC_EFORMAT, "%s/joint_pos.csv: %d lines of %d columns, expected %d joints", folder,
                    q->rows, q->columns, HRC_JOINTS);
    if (pos->rows != q->rows || quat->rows != q->rows)
        return fail(err, HRC_EFORMAT,
                    "%s: %d lines in joint_pos.csv, %d in body_pos.csv, %d in body_quat.csv", folder, q->rows,
                    pos->rows, quat->rows);
    if (pos->columns % 3 || quat->columns % 4 || pos->columns / 3 != quat->columns / 4)
        return fail(err, HRC_EFORMAT,
                    "%s: %d columns in body_pos.csv and %d in body_quat.csv, expected 3 and 4 a body", folder,
                    pos->columns, quat->columns);
    return HRC_OK;
}

static hrc_status read_folder(tracked *m, const char *folder, arena *memory, hrc_error *err)
{
    csv_table q, pos, quat, velocity;
    hrc_error unwanted;
    TRY(read_table(&q, folder, "joint_pos.csv", memory, err));
    TRY(read_table(&pos, folder, "body_pos.csv", memory, err));
    TRY(read_table(&quat, folder, "body_quat.csv", memory, err));
    TRY(check_tables(&q, &pos, &quat, folder, err));
    if (read_table(&velocity, folder, "joint_vel.csv", memory, &unwanted) >= 0)
        m->joint_vel = as_array(&velocity, 0);
    m->joint_pos = as_array(&q, 0);
    m->body_pos = as_array(&pos, 3);
    m->body_quat = as_array(&quat, 4);
    m->n = q.rows, m->columns = q.columns, m->bodies = pos.columns / 3;
    for (int l = 0; l < G1_LINKS; l++) m->body[ORDER_NAMED][l] = -1;
    int listed = read_indexes(m, folder);
    if (listed != m->bodies || m->body[ORDER_NAMED][G1_PELVIS] != 0) { /* then only the first is known */
        for (int l = 0; l < G1_LINKS; l++) m->body[ORDER_NAMED][l] = l ? -1 : 0;
        m->named_joints = true;
    }
    m->named_bodies = true;
    if (m->bodies == 1) m->named_joints = true; /* nothing can tell: as the format has it */
    memcpy(m->joint[ORDER_NAMED], m->joint[ORDER_ISAAC], sizeof m->joint[ORDER_NAMED]);
    return HRC_OK;
}

hrc_status sonic_load(clip *c, const char *folder, const clip_options *options, clip_decisions *why,
                      hrc_error *err)
{
    arena memory = {0};
    tracked m = {.path = folder, .format = "CSV folder, SONIC's", .usual_fps = USUAL_FPS};
    clip_options chosen = *options;
    *c = (clip){0};
    tracked_orders(&m);
    hrc_status status = read_folder(&m, folder, &memory, err);
    if (m.named_joints && !chosen.quat) chosen.quat = "wxyz";
    if (status >= 0) status = tracked_clip(c, &m, &chosen, why, err);
    if (status >= 0 && m.named_joints)
        snprintf(why->joints, sizeof why->joints,
                 "Isaac's breadth-first order, as this format has it; with one body nothing can confirm it");
    if (status >= 0 && m.named_joints && !options->quat)
        snprintf(why->quat, sizeof why->quat, "w,x,y,z, as this format has it");
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}
