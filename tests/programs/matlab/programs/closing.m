function [th, dth, J] = closing(q, dq)
% a linkage by its closed form, with equations that are solved
l = lengths();
p = l.crank*cos(q) - l.ground; r = l.crank*sin(q);
k = (p*p + r*r + l.rocker^2 - l.coupler^2)/(2*l.rocker);
th3 = 2*atan2(r + sqrt(p^2 + r^2 - k^2), p + k);
th2 = atan2(l.rocker*sin(th3) - r, l.rocker*cos(th3) - p);
th = [q; th2; th3];
J = [-l.crank*sin(q) -l.coupler*sin(th2) l.rocker*sin(th3)
      l.crank*cos(q)  l.coupler*cos(th2) -l.rocker*cos(th3)];
dth = [dq; -(J(:, 2:3)\(J(:, 1)*dq))];
end

function l = lengths()
l.crank = 0.3; l.coupler = 0.9; l.rocker = .8; l.ground = 1e0;
end
