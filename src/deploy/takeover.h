/* The robot's own motion service must let go before it obeys anyone else. */
#ifndef HRC_DEPLOY_TAKEOVER_H
#define HRC_DEPLOY_TAKEOVER_H

#include "deploy/wire.h"

hrc_status takeover(wire *w, hrc_error *err);

#endif
