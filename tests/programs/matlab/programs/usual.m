function [a, b, c, d] = usual(x, v)
% many of the usual functions
a = [sin(x) cos(x) tan(x) asin(x/4) acos(x/4) atan(x) atan2(x, 2) sqrt(abs(x)) exp(x) log(abs(x) + 1) ...
     abs(x) sign(x) floor(x) ceil(x) round(x) fix(x) mod(x, 0.7) rem(x, 0.7) max(x, 1) min(x, 1) hypot(x, 3) tanh(x)];
m = [v'; 2*v'; v' - 1];
b = [sum(v) prod(v) mean(v) max(v) min(v) norm(v) numel(v) length(m) size(m, 1) sum(sum(m)) any(v > 0) all(v > 0)];
[big, place] = max(v);
[rows, columns] = size(m);
c = [cumsum(v)'; diff([v; 1])'; cross(v, [1; 2; x])'; sort(v)'; dot(v, v) big place; rows columns isempty([])];
d = [diag(v) repmat(v, 1, 2) reshape(1:3, 3, 1) (eye(3) + 0)*inv(m + diag([3 3 3]) + 0) linspace(0, x, 3)'];
