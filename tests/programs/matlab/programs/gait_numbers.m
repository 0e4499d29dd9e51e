function [n, m, Iz, gr, s] = gait_numbers()
% data as a folder has them
n = 3; al = [0.3; .25; 1e-1];
m = [1; 1; 1]; m(2) = 2*m(2);
Iz = zeros(n, 1);
for i = 1:n, Iz(i) = (1/12)*m(i)*al(i)*al(i); end
K = 2000; odf = 10; Cv = odf*2*sqrt(K*sum(m));
gr = [K; Cv; 4.5; .7; 1000; [2; 1; 3]];
s = numel(gr) + ~isempty(al) - ~true;
