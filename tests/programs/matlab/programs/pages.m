function [p, w] = pages(th, n)
% rotations kept in three axes, as forward kinematics has them
Q = zeros(3, 3, n); p = zeros(3, n); w = [];
for i = 1:n
    c = cos(th(i)); s = sin(th(i));
    Qi = [c -s 0
          s  c 0
          0  0 1];
    if i == 1
        Q(:, :, i) = Qi;
        p(:, i) = Qi*[1; 0; i];
    else
        Q(:, :, i) = Q(:, :, i - 1)*Qi;
        p(:, i) = p(:, i - 1) + Q(:, :, i)*[1; 0; i];
    end
    w(i, :) = Q(1, :, i);
end
w = [w; size(Q)];
