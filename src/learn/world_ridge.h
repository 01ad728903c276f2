/* The world model's first state of knowledge: scales from data, and a ridge regression of its outputs on its
 * inputs as the linear part, so that training begins with a model that is right to first order. */
#ifndef HRC_LEARN_WORLD_RIDGE_H
#define HRC_LEARN_WORLD_RIDGE_H

#include "learn/world.h"

/* Pairs of states (n, WS), targets (n, HRC_JOINTS) and the states a period later. Sets the model's scales and
 * the skip part of params; the last layer of the network becomes small. */
hrc_status world_ridge(world_model *m, float *params, const float *s, const float *target, const float *next,
                       int n, hrc_error *err);

#endif
