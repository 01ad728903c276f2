/* Gates on the shipped models: a broken model, or a loop that no longer fits it, cannot land. The robots are
 * those of seeds that no table uses. */
#include "shell.h"

/* Below what they have by more than other processors make of it, and above what a loop without them has. */
#define SMOKE_ALONE 0.8
#define SMOKE_BOTH 0.8
#define UP_5S 0.85
#define UP_10S 0.9
#define SEEING_10S 0.85
#define ALONE_10S 0.8

static void ensure_at_least(const json_t *figures, const char *name, double least)
{
    const double found = json_number_value(json_object_get(figures, name));
    printf("(%s %.3f) ", name, found);
    if (!(found >= least))
        test_fail(__FILE__, __LINE__, "%s is %.3f, the shipped models have at least %.3f", name, found,
                  least);
}

static void test_follow(void)
{
    json_t *alone = shell_json("$HERACLES eval --suite smoke --planner off --json"),
           *both = shell_json("$HERACLES eval --suite smoke --json");
    ensure_at_least(alone, "cr", SMOKE_ALONE);
    ensure_at_least(both, "cr", SMOKE_BOTH);
    json_decref(alone);
    json_decref(both);
}

static void test_gets_up(void)
{
    json_t *figures = shell_json("$HERACLES eval --suite omni --seed 60 --json");
    ensure_at_least(figures, "recovered", UP_5S);
    ensure_at_least(figures, "recovered_10s", UP_10S);
    json_decref(figures);
}

/* The tracker shown nothing but a reference that stands. */
static void test_gets_up_alone(void)
{
    json_t *figures = shell_json("$HERACLES eval --suite omni --seed 60 --planner off --json");
    ensure_at_least(figures, "recovered_10s", ALONE_10S);
    json_decref(figures);
}

/* The planner that sees the root's position. */
static void test_gets_up_seeing(void)
{
    json_t *figures =
        shell_json("$HERACLES eval --suite omni --seed 60 --planner models/planner-38d.safetensors --json");
    ensure_at_least(figures, "recovered_10s", SEEING_10S);
    json_decref(figures);
}

TEST_TABLE({"models.follow", test_follow}, {"models.gets_up", test_gets_up},
           {"models.gets_up_alone", test_gets_up_alone}, {"models.gets_up_seeing", test_gets_up_seeing})
