/* Pictures and films of motions: sizes, that something moves in them, and what is said when a program is
 * missing. */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "eval/chromium.h"
#include "eval/film.h"
#include "shell.h"

#define VIEW "$HERACLES view motions/wave.safetensors --size 160x120 -o $T/"

typedef struct {
    int w, h;
    unsigned char *rgb;
} picture;

static picture read_picture(const char *name)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    ENSURE(png_image_begin_read_from_file(&png, test_path(name)));
    png.format = PNG_FORMAT_RGB;
    picture p = {(int)png.width, (int)png.height, malloc(PNG_IMAGE_SIZE(png))};
    ENSURE(p.rgb && png_image_finish_read(&png, NULL, p.rgb, 0, NULL));
    return p;
}

/* Pixels above the label in which moments a and b of a strip differ clearly. */
static int moved(const picture *p, int a, int b, int moments)
{
    const int w = p->w / moments;
    int n = 0;
    for (int y = 0; y < p->h * 3 / 4; y++)
        for (int x = 2; x < w - 2; x++) {
            const unsigned char *c = p->rgb + 3 * (y * p->w + a * w + x),
                                *d = p->rgb + 3 * (y * p->w + b * w + x);
            n += abs(c[0] - d[0]) + abs(c[1] - d[1]) + abs(c[2] - d[2]) > 60;
        }
    return n;
}

static void need_chromium(void)
{
    if (!chromium_is_there()) SKIP("chromium is not installed");
}

static void test_picture(void)
{
    need_chromium();
    ENSURE(shell(VIEW "strip.png --at 0,1.5,1.5 --json") == 0);
    picture p = read_picture("strip.png");
    ENSURE(p.w == 480 && p.h == 120);
    ENSURE(moved(&p, 0, 1, 3) > 50 && moved(&p, 1, 2, 3) == 0); /* an arm; the same moment twice */
    free(p.rgb);
    ENSURE(shell(VIEW "aside.png --look 'view=2.5,0.6,1.5'") == 0 && says("aside.png: a picture"));
    p = read_picture("aside.png");
    ENSURE(p.w == 160 && p.h == 120);
    free(p.rgb);
}

static void test_films(void)
{
    need_chromium();
    if (!program_is_there("ffmpeg")) SKIP("ffmpeg is not installed");
    ENSURE(shell(VIEW "a.gif --at 0,0.3 --fps 10 && head -c 6 $T/a.gif") == 0 && says("GIF89a"));
    ENSURE(shell(VIEW "a.mp4 --at 0,0.3 --fps 10 && head -c 8 $T/a.mp4 | tail -c 4") == 0 && says("ftyp"));
    ENSURE(shell("ffmpeg -loglevel error -i $T/a.mp4 -f framecrc - | grep -c '^0,'") == 0);
    ENSURE(atoi(shell_output) == 4); /* 0, 0.1, 0.2, 0.3 s */
    ENSURE(shell("ln -s real.gif $T/link.gif; " VIEW
                 "link.gif --at 0,0.1 --fps 10 && test -L $T/link.gif && cmp -n 6 "
                 "$T/real.gif $T/a.gif") == 0);
    ENSURE(shell(VIEW "b.mp4 --at 500") == 1 && says("is empty; the motion lasts"));
    ENSURE(shell("ls $T/b.mp4*") != 0);
}

static void test_refusals(void)
{
    ENSURE(film_kind_of("a.PNG") == FILM_PNG && film_kind_of("a.png.html") == FILM_NONE);
    ENSURE(shell("PATH=/nowhere " VIEW "none.png") == 1);
    ENSURE(says("there is no Chromium") && says("apt install chromium"));
    ENSURE(shell("mkdir -p $T/bin && ln -sf /bin/true $T/bin/chromium && PATH=$T/bin " VIEW "none.gif") == 1);
    ENSURE(says("there is no ffmpeg") && shell("ls $T/none.*") != 0);
    ENSURE(shell("PATH=$T/bin " VIEW "none.png") == 1 && says("Chromium") && shell("ls $T/none.*") != 0);
    ENSURE(shell("$HERACLES view motions/wave.safetensors --size 5 -o $T/none.png") == 2 &&
           says("WIDTHxHEIGHT"));
    ENSURE(shell(VIEW "none.png --at 1,x") == 2 && says("expected up to 24 seconds"));
}

TEST_TABLE({"film.picture", test_picture}, {"film.films", test_films}, {"film.refusals", test_refusals})
