/* The number type of networks. A test that wants the same source in double defines NN_DOUBLE and includes
 * the .c files themselves; NN_FN then keeps their names inside that one test. */
#ifndef HRC_NN_REAL_H
#define HRC_NN_REAL_H

#ifdef NN_DOUBLE
typedef double real;
#define NN_FN static __attribute__((unused))
#else
typedef float real;
#define NN_FN
#endif

#endif
