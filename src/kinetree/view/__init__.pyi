from kinetree_studio.view.motion import Track as Track
from kinetree_studio.view.show import play as play
from kinetree_studio.view.show import view as view
from kinetree_studio.view.viewer import Viewer as Viewer
