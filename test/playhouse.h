/* For tests of the playground: everything it needs, small untrained models, and a server on its own thread.
 */
#ifndef HRC_TEST_PLAYHOUSE_H
#define HRC_TEST_PLAYHOUSE_H

#include "play/server.h"

typedef struct {
    hrc_model *tracker, *planner; /* NULL: none */
    catalog motions;              /* wave and floor */
    pool *threads;
    sim *physics;
    tape *record;
    playground *scene;
} playhouse;

/* The one there is; the last one is closed first. Ends the test when it fails. */
playhouse *playhouse_open(bool models);
void playhouse_close(void);

/* The server of the playhouse, on its own thread until the playhouse closes. */
play_server *playhouse_serve(void);
int playhouse_port(void);

#endif
