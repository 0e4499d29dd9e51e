function [q, dq, ddq] = wave(t, n, Tp)
% a motion with a condition on time, as trajectories have
if rem(t, Tp) ~= 0
    s = rem(t, Tp); turn = ceil(t/Tp);
elseif t == 0
    s = 0; turn = 1;
else
    s = Tp; turn = t/Tp;
end
for i = 1:n
    q(i, 1) = i*sin(2*pi*s/Tp);
    dq(i, 1) = i*2*pi/Tp*cos(2*pi*s/Tp);
    ddq(i, 1) = -i*(2*pi/Tp)^2*sin(2*pi*s/Tp);
end
if mod(turn, 2) == 1
    q = q + 1;
else
    q = -q; dq = -dq; ddq = -ddq;
end
q = q.*(t < 2*Tp) + min(t, Tp)*(t >= 2*Tp);
