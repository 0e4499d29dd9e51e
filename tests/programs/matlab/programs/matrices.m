function [a, b, c, d, e] = matrices(x, y)
% literals, transposes, slices, growth and deletion
a = [x, -y; 2 - 3 y'
     x*y x/y]';
b = [a(:, end); a(1, 2:3)'];
b(5) = 2^-x';
b(2) = [];
c = zeros(2, 3);
c(:, 2) = [x; y];
c(end + 1, :) = 1:3;
d = c(:)';
d([1 3]) = [];
e = a(2:end, [true false true]) + 1;
e(:, end + 1) = -2^2;
