/* Lists of blocks: saved, restored, refused. */
#include "base/state.h"

#include <string.h>

#include "test.h"

static void test_state(void)
{
    hrc_error err;
    static state_list l, other;
    double a[3] = {1, 2, 3};
    int64_t n = 7;
    const tensor_meta meta[] = {{"seed", "4"}}, wrong[] = {{"seed", "5"}};
    state_add(&l, "x.", "a", DT_F64, a, 3);
    state_add(&l, "", "n", DT_I64, &n, 1);
    state_add(&l, "", "nothing", DT_F32, NULL, 0);
    ENSURE(l.n == 2);
    ENSURE_OK(state_save(&l, test_path("state"), meta, 1, &err));
    a[1] = -1, n = 0;
    ENSURE(state_load(&l, test_path("state"), wrong, 1, &err) < 0 &&
           strstr(err.text, "seed is 4, this run has 5"));
    state_add(&other, "x.", "a", DT_F64, a, 3);
    state_add(&other, "", "m", DT_I64, &n, 1);
    ENSURE(state_load(&other, test_path("state"), meta, 1, &err) < 0 && strstr(err.text, "\"m\""));
    ENSURE(a[1] == -1 && n == 0); /* nothing has changed */
    ENSURE_OK(state_load(&l, test_path("state"), meta, 1, &err));
    ENSURE(a[1] == 2 && n == 7);
    double more[5] = {0, 0, 0, 8, 9}; /* of a there are more now */
    static state_list longer, shorter;
    state_add_growing(&longer, "x.", "a", DT_F64, more, 5);
    ENSURE_OK(state_load(&longer, test_path("state"), meta, 1, &err));
    ENSURE(more[0] == 1 && more[2] == 3 && more[3] == 8 && more[4] == 9);
    state_add_growing(&shorter, "x.", "a", DT_F64, more, 2);
    ENSURE(state_load(&shorter, test_path("state"), meta, 1, &err) < 0 &&
           strstr(err.text, "x.a has 3 numbers, expected at most 2"));
    while (l.n <= STATE_MAX_BLOCKS) state_add(&l, "", "more", DT_I64, &n, 1);
    ENSURE(state_save(&l, test_path("state"), meta, 1, &err) < 0);
}

TEST_TABLE({"state.list", test_state})
