"""The tuned constants of identification, with the decision that each controls.

If a value was measured, its line says how; the others are judgments, backed by the simulated and
real motions of ``tests/identification``.
"""

# ------------------------------------------------------------------ samples and clocks

GAP = 20.0
"""Pauses of more than this many steps divide the data into pieces, since the motion in between is unknown."""
LOST = 3
"""More consecutive rows with NaN than this also divide the data."""
STALE = 0.5
"""If the share of repeated rows is larger than this, the robot is at rest or a sensor is slow; otherwise, messages were
repeated."""
ON_CLOCK = 0.98
"""Share of steps that must be whole periods for the sender's clock to be used."""
LEAST_SAMPLES = 50
"""With fewer rows, nothing can be said about frequencies."""

# ------------------------------------------------------------------ filters and derivatives

RISES_AGAIN = 3.0
"""By how much the spectrum of the accelerations must rise above its minimum for higher frequencies to count as
noise."""
STANDS_OUT = 0.01
"""Share of the largest power density of the velocities, in a part of an octave, that noise does not reach."""
SAMPLED_WELL = 0.4
"""Share of half the sampling frequency up to which a line of the spectrum counts as motion."""
OF_POWER = 1e-5
"""The largest share of the power of the velocities that may be cut off."""
LEAST_MOTION = 0.02
"""Joints that move less than this, compared with the one that moves most, are ignored."""
PER_OCTAVE = 6
"""Into how many parts an octave of the spectrum is divided."""
MOTION_FILTER, BOTH_SIDES = 6.0, 3.0
"""Cutoffs of the two filters, as multiples of the highest frequency of the motion."""
LEAST_LAG, LONGEST_LAG = 1e-3, 0.1
"""Range in seconds in which a lag of velocities is accepted."""
LAGS_ALIKE, LAG_LEAVES = 0.25, 0.5
"""A lag is accepted if lags of three joints or more differ by no more than this share, or if it leaves no more than
this share of the squared velocity errors."""
ORDER = 4
"""Order of the Butterworth filters."""
LEAST_KEPT = 100
"""How many samples the filter of both sides should keep of short motions."""
FEW_COLUMNS = 16
"""Up to this many columns, windows are applied column by column, which is faster for few columns."""
WHITE = 1.1
"""Cutoff of the second filter, relative to half the rate of the samples kept, at which their noise is uncorrelated."""
FEWEST = 12
"""With fewer samples, motion cannot be distinguished from noise."""
COLORED = 1.0
"""Share of the accelerations that may be above the frequencies of the motion; if there is more, the noise is not
white."""
ABOVE_VALLEY = 3.0
"""Factor above the minimum of the spectrum beyond which accelerations are attributed to noise that is not white."""
PER_PERIOD = 16
"""Number of averages per period of the fastest motion, if the noise of neighboring samples is correlated."""
NOISE_OF_QUATERNIONS = 0.1
"""By how much measured quaternions may differ from unit ones."""
INSTANT = 1e-3
"""Share of a period within which differences approximate derivatives, for coordinates that turn with a body."""
END_WINDOW, END_DEGREE = 1.0, 4
"""Length of the ends of a motion to which a polynomial is fitted, in units of one over the cutoff; and its degree."""
UNEVEN = 20.0
"""The longest pause between two samples, in steps, that is interpolated."""
DEGREE = 5
"""Degree of the splines, whose accelerations have two continuous derivatives."""
ORDERS = (3, 4, 5)
"""Derivatives that may be modeled as white noise: jerk, if accelerations jump, and higher ones."""
FEWEST_KNOTS = 16
"""Minimum number of intervals of a spline."""
PER_KNOT = 0.12
"""Knots are fine enough if the cutoff times their distance is below this."""
FELT_COEFFICIENTS = 120
"""The most coefficients that affect a deviation: correlations die out within some knots."""

# ------------------------------------------------------------------ equations and fits

BLOCK = 4096
"""Number of samples whose regressor is computed at once."""
FAST, OFTEN = 5.0, 0.02
"""A velocity beyond this many standard deviations of noise counts as motion, and a joint moves if this share of samples
does."""
PART = 0.05
"""If a joint's share in a row, relative to the largest one, is below this, it does not matter whether the joint is at
rest."""
TILE_BYTES = 3 << 19
"""Size of a regressor that is computed at once, so that it stays in the processor's cache."""
LEAST_TILE = 128
"""Minimum number of samples in a tile; with fewer, calls take too much of the time."""
REFLECTED_TOGETHER = 8
"""Number of columns that are reflected together: few, so that a tile's products are too small for BLAS to use
threads."""
RANK_TOLERANCE = 1e-10
"""Directions whose singular value is smaller than this, compared with the largest, are not determined by the
samples."""
CANCELED = 1e-12
"""Columns this much shorter than the columns they combine are rounding errors."""
FIRST_ROUNDS, MOST_ROUNDS = 5, 30
"""Rounds of weighting by noise with robust weights, and the maximum number of rounds."""
NOISE_SETTLED = 1e-7
"""Share by which the noise of joints may still change between rounds that count as converged."""
EXACT = 1e-10
"""If the noise relative to a joint's force is below this, the fit is exact; otherwise, a few rows with as many columns
of their own would get unlimited weight."""
UNTOLD = 1e-9
"""Directions whose singular value is smaller than this, compared with the largest, are not determined by the rows."""
HUBER = 1.345
"""Residuals beyond this many standard deviations get less weight; without outliers, the estimate is 95 % as efficient
as least squares."""
NEWTON_STEPS = 400
"""Steps of Newton's method, and of Levenberg and Marquardt's, before a fit is given up."""
WEAKER, BARRIER_WEAKER = 0.3, 0.15
"""Factor of pull and barrier from one round of steps to the next; larger changes need more steps in all."""
NEGLIGIBLE = 1e-4
"""Steps end if a further step would gain less than this share of the remaining error."""
LAST_BARRIER = 1e-6
"""Weight of the barrier at the end, relative to the remaining error of the fit."""
FAINT = 1e-5
"""Pull of parameters that belong to no body, relative to the size of their column: it decides between columns that can
be determined only together, such as the offsets of two joints with a gear between them, and changes all others by 1e-10
of their value."""
IDLE = 1e-12
"""If a column is smaller than this share of the largest, no row depends on it."""
LONGEST_STEP, SMALLEST_COORDINATE = 1.0, -1e3
"""Bounds on a step in log-Cholesky coordinates, and on the coordinates themselves, so that logarithms do not
diverge."""
CANDIDATES = 20
"""Number of configurations of a motion from which the least singular one is chosen as a starting point."""
NOTHING_KNOWN = 0.1
"""How much weaker the pull is if the file has no masses: it should only decide what the motion does not determine."""
HELD_WEIGHT = 0.3
"""Share of a robot's weight that must be held by something, if the robot does not fall."""

# ------------------------------------------------------------------ friction, springs and gains

NOISE = 3.0
"""Velocities below this many standard deviations of their noise have no reliable sign."""
TURNED_BACK = 2.0
"""A joint that slows down and continues counts as reversed only if it goes backward by more than this many standard
deviations of noise."""
FOLDS = 5
"""Parts of the data, each predicted by fits to the others."""
CLEAR = 0.02
"""Share by which a joint's error must decrease for a more complex model to be chosen."""
NOISELESS = 1e-4
"""Errors below this share of a joint's force cannot come from measurements; rounding would decide between models."""
FITS = 0.04
"""Share by which a spring or a slow damper must lower the residuals of all data. In 32 simulated motions without any,
those that predicted better by chance lowered them by 0.03 at most; for a real arm that has some, it was 0.06."""
SWEEPS, FIT_ROUNDS = 2, 5
"""Passes over all joints when shapes of friction are chosen, and rounds of weighting in each fit."""
RIDGE = 1e-11
"""Added to the diagonal of products of columns of unit size, to protect against rounding."""
TIMES = (0.1, 0.1)
"""Time constants in seconds around which slow dampers are searched for; a damper that is slower is a spring."""
CHOICE_ROUNDS, TIMES_SETTLED = 3, 0.05
"""Models and time constants of friction are chosen at most this many times, until the constants change by no more than
this share."""
SEEN, WELL_WITHIN = 0.01, 0.5
"""Shares of a joint's speed between which Stribeck friction fades: if it faded sooner, hardly any sample would show it;
if it faded later, it would distort viscous friction."""
SURE = 3.0
"""Standard deviations above zero from which a stiffness, a gain or a correction counts as significant."""
STEPS_PER_DECADE = 4
"""Steps per decade of the search for a shape."""
FURTHER = 10.0
"""Factor by which the search for a shape extends beyond its initial values in both directions."""
FOUND = 0.999 * FURTHER
"""A number within this factor of its initial values was found; beyond it, the search has reached its end."""
AT_ONCE = 1.5 / FURTHER
"""Below this share of the smallest initial travel, where the search ends, friction counts as building up at once."""
LEAST_CORRECTION = 0.01
"""Share by which a force must differ to be corrected."""
GAIN_ROUNDS, GAINS_SETTLED = 4, 1e-3
"""With corrected forces, the loads of the bodies are computed again at most this many times, until they change by less
than this."""

# ------------------------------------------------------------------ simulations

MOST_SIMULATIONS = 15
"""Maximum number of simulations, each with the parameters of the previous fit, until they converge."""
PARAMETERS_SETTLED = 0.02
"""Share of a standard deviation by which parameters may still change between simulations that count as converged."""
WINDOW_LENGTH, LEAD = 1.0, 0.25
"""Length of a window in seconds, and of the part before it that is not used."""
SLOW = 0.02
"""Coulomb friction is linear below this share of a joint's usual speed."""
STABLE = 1.5
"""Largest product of step and fastest rate in Runge-Kutta's method, which is stable up to 2.7."""
MOST_SUBSTEPS = 64
"""Maximum number of substeps of a simulation step."""
OUTPUT_SETTLED = 1e-6
"""A step that lowers the output error by less than this share has converged."""

# ------------------------------------------------------------------ motions to measure, and loads

SMOOTH_SIGN = 0.05
"""Share of a joint's largest speed below which Coulomb friction is smoothed during the search for motions."""
PENALTIES = (3.0, 30.0, 300.0)
"""Weights of the penalty for exceeding the limits, one after the other: first weak, then strong."""
ROOM = 0.98
"""Share of a limit that is used, so that the motion between two samples also stays within it."""
NOT_THE_LOAD, DOUBTFUL_LOAD = 0.5, 0.15
"""If currents leave more than these shares of a load's forces unexplained, it is not the right load, or may not be."""
DENSITY = 3000.0
"""Density of a typical load in kg/m^3, between plastics and steel, for a first guess of its inertia."""

# ------------------------------------------------------------------ doubts about samples and results

NEAR_RATIO = 1.15
"""Factor within which a ratio of units is recognized."""
TURNS_IN_DEGREES = 3.0
"""Positions beyond this many turns are not radians, if most joints go that far and none stays within its limits."""
BEYOND_LIMITS, MARGIN = 1.5, 0.2
"""No measured joint exceeds its limits by more than this factor plus this many radians."""
MOVES = 0.05
"""Joints that stay this close to zero, in rad, say nothing about units."""
SLOWEST = 0.25
"""Time steps, in seconds, that are longer than those of any controller."""
STUCK_FOR, FREED_BY = 0.1, 5.0
"""An encoder is stuck if a position does not change for this many seconds and then jumps by this multiple of its usual
largest step."""
BRAKES_WITHIN, BREAKS_BY = 0.025, 1.5
"""Seconds over which changes of speed are compared, and the ratio of a change at a stuck end to the largest
elsewhere."""
LEAST_TURNS = 3
"""How often half of the joints must reverse; with fewer reversals, weight, friction and offset cannot be
distinguished."""
LONGEST_DELAY, DELAYS = 0.2, 81
"""Largest delay that is tried in both directions, in seconds, and the number of delays."""
FINER_DELAYS, LEAST_DELAY = 11, 5e-4
"""Number of delays tried around the best of these, and the shortest one, in seconds, that is reported."""
LATE, EARLY = 0.8, 0.5
"""A delay of forces, or of positions, is accepted if the residuals are at most this share of those without a delay.

Joints that stick look as if positions were delayed: forces grow before anything moves.
"""
MIXED_UP = 0.1
"""Relative error beyond which a joint's column may belong to another joint, or have the wrong sign."""
TURNED = 0.03
"""Relative error beyond which a joint's zero may be wrong."""
TRIED_ROWS, AVERAGED = 400, 25
"""Number of groups of samples used to detect exchanged columns, and number of samples averaged in each to reduce
noise."""
UNMIXED = 0.5
"""Exchanged columns are accepted if the residuals are at most this share of the original ones."""
FASTER = 0.05
"""Share of a joint's largest speed beyond which its friction has a sign."""
ZEROS = (90, 180, -90)
"""Degrees by which zeros of joints typically differ between manufacturers and model files."""
NOT_EXPLAINED = 0.5
"""Relative error beyond which a joint's force is not explained."""
SURE_SIGN = 5.0
"""Standard deviations beyond which a sign is significant."""
MOSTLY = 2.0 / 3.0
"""If more than this share of parameters has large deviations, the motion contains hardly any information."""
PLAUSIBLE = 4.0
"""Factor between identified and file values that different masses may explain."""
TOLD = 20.0
"""Size of the file's loads, relative to their noise, from which such a factor is reported."""
ALIKE, SEVERAL, COMMON = 0.1, 6, 1.5
"""Share of the loads within which all equal the file's times a common factor, number of combinations beyond which this
is not chance, and the factor beyond which it is reported."""
PLAUSIBLE_WEIGHT = 3.0
"""Factor between the mass that measured wrenches support and the file's that different masses may explain."""
LAGS = 20
"""Number of lags for which the autocorrelation of residuals is computed."""
POOR = 0.3
"""Relative standard deviation beyond which a parameter is poorly determined."""
