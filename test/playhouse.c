#include "playhouse.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "small.h"
#include "test.h"

static playhouse house;
static play_server *server;
static pthread_t thread;
static atomic_bool over;

void playhouse_close(void)
{
    if (server) {
        atomic_store(&over, true);
        pthread_join(thread, NULL);
        play_server_free(server);
        server = NULL;
    }
    playground_free(house.scene);
    tape_free(house.record);
    sim_free(house.physics);
    pool_free(house.threads);
    catalog_close(&house.motions);
    hrc_model_free(house.tracker);
    hrc_model_free(house.planner);
    memset(&house, 0, sizeof house);
}

playhouse *playhouse_open(bool models)
{
    static const char *const FILES[] = {"motions/wave.safetensors", "motions/floor.safetensors"};
    hrc_error err;
    static config cfg;
    cfg = config_default();
    playhouse_close();
    if (models) {
        small_tracker("t.safetensors", "reference");
        ENSURE_OK(hrc_model_load(&house.tracker, test_path("t.safetensors"), &err));
        small_planner("p.safetensors", 38);
        ENSURE_OK(hrc_model_load(&house.planner, test_path("p.safetensors"), &err));
    }
    ENSURE_OK(catalog_open(&house.motions, NULL, FILES, 2, NULL, &err));
    ENSURE_OK(pool_create(&house.threads, PLAY_ROBOTS, &err));
    ENSURE_OK(sim_create(&house.physics, &cfg, house.threads, &err));
    ENSURE_OK(tape_create(&house.record, &err));
    const playground_resources means = {
        house.tracker, house.planner, house.physics, house.threads, &house.motions, house.record, 7, &cfg};
    ENSURE_OK(playground_create(&house.scene, &means, 0, &err));
    return &house;
}

static bool is_over(void *ctx)
{
    (void)ctx;
    return atomic_load(&over);
}

static void *serve(void *ctx)
{
    play_server_run(server, is_over, ctx);
    return NULL;
}

play_server *playhouse_serve(void)
{
    hrc_error err;
    const play_server_options o = {.scene = house.scene,
                                   .motions = &house.motions,
                                   .record = house.record,
                                   .tracker = house.tracker ? hrc_model_trained(house.tracker) : NULL,
                                   .planner = house.planner ? hrc_model_trained(house.planner) : NULL,
                                   .address = "127.0.0.1"};
    ENSURE_OK(play_server_create(&server, &o, &err));
    atomic_store(&over, false);
    ENSURE(pthread_create(&thread, NULL, serve, NULL) == 0);
    return server;
}

int playhouse_port(void)
{
    return play_server_port(server);
}
