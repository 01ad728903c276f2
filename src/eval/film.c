#include "eval/film.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "eval/chromium.h"

#define LOAD_S 120.0 /* a long page in software */

film_kind film_kind_of(const char *path)
{
    const char *ending = strrchr(path, '.');
    if (!ending) return FILM_NONE;
    return !strcasecmp(ending, ".png")   ? FILM_PNG
           : !strcasecmp(ending, ".gif") ? FILM_GIF
           : !strcasecmp(ending, ".mp4") ? FILM_MP4
                                         : FILM_NONE;
}

hrc_status film_check(film_kind kind, hrc_error *err)
{
    if (!chromium_is_there())
        return fail(err, HRC_EFILE,
                    "there is no Chromium, which draws pictures (Debian: apt install chromium); a page "
                    "(-o FILE.html) needs none");
    if (kind != FILM_PNG && !program_is_there("ffmpeg"))
        return fail(err, HRC_EFILE,
                    "there is no ffmpeg, which makes films of pictures (Debian: apt install ffmpeg); -o "
                    "FILE.png and FILE.html need none");
    return HRC_OK;
}

/* ---- The page ---- */

static hrc_status open_page(chromium **out, const char *page, const film_options *o, hrc_error *err)
{
    char address[8192], *whole = realpath(page, NULL);
    if (!whole) return fail(err, HRC_EFILE, "%s: cannot open", page);
    const int size = snprintf(address, sizeof address, "file://%s#play=0&%s", whole, o->look);
    free(whole);
    if (size >= (int)sizeof address) return fail(err, HRC_EINVAL, "%.200s...: too long an address", address);
    TRY(chromium_open(out, address, o->width, o->height, err));
    TRY(chromium_wait(*out, "document.readyState === 'complete' && window.replay", LOAD_S, err));
    TRY(chromium_wait(*out, "replay.stage && (replay.bare(), true)", 1, err));
    return HRC_OK;
}

static hrc_status duration(chromium *c, double *out, hrc_error *err)
{
    json_t *value;
    TRY(chromium_eval(c, "replay.duration", &value, err));
    *out = json_number_value(value);
    json_decref(value);
    return HRC_OK;
}

/* Moments side by side, as the bytes of a picture. */
static hrc_status draw(chromium *c, text *picture, const double *at_s, int n, const char *type,
                       hrc_error *err)
{
    text script = {0};
    json_t *value = NULL;
    text_add(&script, "replay.strip([");
    for (int i = 0; i < n; i++) text_add(&script, "%s%.4f", i ? "," : "", at_s[i]);
    text_add(&script, "], '%s')", type);
    hrc_status status = text_ok(&script) ? chromium_eval(c, script.data, &value, err)
                                         : fail(err, HRC_ENOMEM, "film: out of memory");
    text_free(&script);
    if (status < 0) return status;
    const char *data = json_string_value(value), *comma = data ? strchr(data, ',') : NULL;
    if (comma) base64_decode(picture, comma + 1);
    json_decref(value);
    return comma && text_ok(picture) ? HRC_OK : fail(err, HRC_EFILE, "the page drew no picture");
}

static hrc_status write_png(const char *path, chromium *c, const film_options *o, hrc_error *err)
{
    text picture = {0};
    hrc_status status = draw(c, &picture, o->n ? o->at_s : &(double){0}, o->n ? o->n : 1, "image/png", err);
    if (status == HRC_OK) status = file_write(path, &(file_piece){picture.data, picture.size}, 1, err);
    text_free(&picture);
    return status;
}

/* ---- Films ---- */

typedef struct {
    pid_t pid;
    FILE *pictures;
} encoder;

static hrc_status encoder_start(encoder *e, const char *path, film_kind kind, double fps, hrc_error *err)
{
    /* Sizes of this kind of film are even; a GIF has one palette for all its pictures. */
    const char *filter = kind == FILM_MP4 ? "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p"
                                          : "split[a][b];[a]palettegen[p];[b][p]paletteuse";
    const char *format = kind == FILM_MP4 ? "mp4" : "gif";
    char rate[32];
    int ends[2];
    snprintf(rate, sizeof rate, "%g", fps);
    if (pipe(ends) < 0) return fail(err, HRC_EFILE, "no pipe to ffmpeg");
    e->pid = fork();
    if (e->pid == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        execlp("ffmpeg", "ffmpeg", "-loglevel", "error", "-y", "-f", "image2pipe", "-c:v", "mjpeg",
               "-framerate", rate, "-i", "-", "-vf", filter, "-map_metadata", "-1", "-movflags", "+faststart",
               "-f", format, path, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    e->pictures = fdopen(ends[1], "wb");
    return e->pid > 0 && e->pictures ? HRC_OK : fail(err, HRC_EFILE, "cannot start ffmpeg");
}

static hrc_status encoder_finish(encoder *e, const char *path, hrc_error *err)
{
    int code = -1;
    fclose(e->pictures);
    if (waitpid(e->pid, &code, 0) < 0 || !WIFEXITED(code) || WEXITSTATUS(code))
        return fail(err, HRC_EFILE, "%s: ffmpeg could not write it", path);
    return HRC_OK;
}

static hrc_status feed(encoder *e, chromium *c, const film_options *o, hrc_error *err)
{
    double first = 0, last;
    TRY(duration(c, &last, err));
    if (o->n) first = o->at_s[0];
    if (o->n > 1 && o->at_s[1] < last) last = o->at_s[1];
    if (!(last > first))
        return fail(err, HRC_EINVAL, "a film from %g s to %g s is empty; the motion lasts %g s", first,
                    o->n > 1 ? o->at_s[1] : last, last);
    const int n = (int)((last - first) * o->fps) + 1;
    for (int i = 0; i < n; i++) {
        const double at = first + i / o->fps;
        text picture = {0};
        hrc_status status = draw(c, &picture, &at, 1, "image/jpeg", err);
        if (status == HRC_OK && fwrite(picture.data, 1, picture.size, e->pictures) != picture.size)
            status = fail(err, HRC_EFILE, "ffmpeg takes no more pictures after %d", i);
        text_free(&picture);
        if (status < 0) return status;
        if (o->progress) o->progress(o->ctx, (double)(i + 1) / n);
    }
    return HRC_OK;
}

/* Into a file beside it, which then goes to where the name leads: whole or not at all. */
static hrc_status write_film(const char *path, chromium *c, const film_options *o, hrc_error *err)
{
    char part[4200];
    encoder e = {0};
    hrc_error second;
    snprintf(part, sizeof part, "%.4096s.part", path);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    hrc_status status = encoder_start(&e, part, film_kind_of(path), o->fps, err);
    if (status == HRC_OK) {
        status = feed(&e, c, o, err);
        const hrc_status finished = encoder_finish(&e, path, status < 0 ? &second : err);
        if (status == HRC_OK) status = finished;
    }
    signal(SIGPIPE, old);
    if (status == HRC_OK) status = file_move(path, part, err);
    if (status < 0) unlink(part);
    return status;
}

hrc_status film_write(const char *path, const char *page, const film_options *o, hrc_error *err)
{
    chromium *c = NULL;
    hrc_status status = film_check(film_kind_of(path), err);
    if (status == HRC_OK) status = open_page(&c, page, o, err);
    if (status == HRC_OK)
        status = film_kind_of(path) == FILM_PNG ? write_png(path, c, o, err) : write_film(path, c, o, err);
    chromium_close(c);
    return status;
}
