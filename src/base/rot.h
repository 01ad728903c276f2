/* Rotations, for double (quat_mul) and float (quat_mulf). Quaternions are w,x,y,z, unit, and rotate body
 * vectors into the world: v_world = quat_rotate(q, v_body). Matrices are row-major 3x3. Outputs may alias
 * inputs. The heading ("yaw") is the twist about the vertical: q = yaw * tilt, where tilt turns about a
 * horizontal axis. Unlike the Euler angle of the body's x axis it stays well defined for a robot that
 * lies on its back, front or side; it is undefined only upside down. */
#ifndef HRC_BASE_ROT_H
#define HRC_BASE_ROT_H

#define ROT_DECLARE(real, f)                                                                                 \
    void quat_mul##f(real out[4], const real a[4], const real b[4]);                                         \
    void quat_conj##f(real out[4], const real q[4]);                                                         \
    void quat_local##f(real out[4], const real a[4], const real b[4]); /* a^-1 b: b in the frame of a */     \
    void quat_turn##f(real out[4], const real a[4],                                                          \
                      const real b[4]); /* b a^-1: takes a to b in the world */                              \
    real quat_normalize##f(real q[4]);  /* returns the norm it had; zero -> identity */                      \
    void quat_rotate##f(real out[3], const real q[4], const real v[3]);                                      \
    void quat_rotate_inv##f(real out[3], const real q[4], const real v[3]);                                  \
    void quat_up##f(real out[3], const real q[4]);        /* the world's up in the body's frame */           \
    void quat_exp##f(real out[4], const real rotvec[3]);  /* rotation vector (axis * angle) to quat */       \
    void quat_log##f(real out[3], const real q[4]);       /* shortest rotation vector, |out| <= pi */        \
    real quat_angle##f(const real a[4], const real b[4]); /* angle between two orientations, 0..pi */        \
    void quat_slerp##f(real out[4], const real a[4], const real b[4], real t);                               \
    real quat_yaw##f(const real q[4]);                                                                       \
    void quat_from_yaw##f(real out[4], real yaw);                                                            \
    void quat_split_yaw##f(real yaw[4], real tilt[4], const real q[4]); /* q = yaw * tilt */                 \
    void quat_to_mat##f(real m[9], const real q[4]);                                                         \
    void quat_from_mat##f(real q[4], const real m[9]);                                                       \
    void quat_to_6d##f(real out[6], const real q[4]);  /* first two columns: R00 R01 R10 R11 R20 R21 */      \
    void quat_from_6d##f(real q[4], const real in[6]); /* by Gram-Schmidt; degenerate input -> identity */   \
    void vec_cross##f(real out[3], const real a[3], const real b[3]);                                        \
    real vec_dot##f(const real a[3], const real b[3]);                                                       \
    real vec_norm##f(const real v[3])

ROT_DECLARE(double, );
ROT_DECLARE(float, f);

#endif
