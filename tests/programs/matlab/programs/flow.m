function [total, last, word] = flow(x, n)
% loops, branches, jumps and switches
total = 0; last = NaN;
for i = 1:n
    if i == 2, continue; elseif i > 6, break, end
    total = total + i*x;
    last = i;
end
k = 0;
while true
    k = k + 1;
    if k >= 3 && x > 0 || k > 5
        break
    end
end
switch k
    case {3, 4}
        word = [1 k];
    case 6
        word = [2 k];
    otherwise
        word = [3 k];
end
for column = [1 2; 3 4]
    total = total + column'*[x; 1];
end
if x < -100
    return
end
total = total + 1;
%{
total = 99;
%{
total = 98;
%}
%}
end

function total = other()
total = 5;
end
