function [y, z] = cells_and_handles(x, varargin)
% handles, cells, arguments that may be missing
if nargin < 2
    more = 1;
else
    more = varargin{1};
end
square = @(u) u.^2 + more;
c = {x, [1 2 3], @cos};
y = [square(c{2}) feval(c{3}, x) length(c) c{2}(2)];
z = added(c{2}, x);
end

function s = added(a, varargin)
s = a;
for k = 1:numel(varargin)
    s = s + varargin{k};
end
s(s > 3 & s ~= 4) = 0;
s(~(s < 0)) = s(~(s < 0)) + 0.5;
end
