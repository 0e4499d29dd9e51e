function [a, b] = any_scalar(x, v)
% what goes over any scalar: conditions, rounding, equations
a = [tan(x) asin(x/4) acos(x/4) atan(x) sqrt(abs(x)) exp(x) log(abs(x) + 1) sign(x) floor(x) ceil(x) round(x) fix(x) ...
     mod(x, 0.7) rem(x, 0.7) max(x, 0.5) min(x, 0.5) hypot(x, 3) tanh(x) sinh(x) x^3 x^-2 abs(x)^0.5 norm(v) log10(x^2)];
m = [1 x v(1); x 0 v(2); v(3) 1 x];
b = [m\v inv(m)*v [det(m); sum(v); prod(v)] cross(v, [1; x; 2])];
s = struct('k', 1);
if x > 0.3 && v(1) < x
    s.k = x; b = 2*b;
elseif x == 0 || ~(v(2) > 0)
    s.k = v(2);
else
    b(1, :) = b(1, :)*s.k;
end
switch sign(x)
    case {1, 2}
        c = 1;
    case -1
        c = -1;
    otherwise
        c = 0;
end
b(2, 1) = b(2, 1) + s.k*c*any(v > 1) - all(v < 1);
