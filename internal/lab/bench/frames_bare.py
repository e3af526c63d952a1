"""Renders frames of a .blend with Blender and nothing else: what `blender -b scene.blend -t threads -s 1 -e frames -a` does.

python frames_bare.py scene.blend folder frames threads
"""

import os
import sys

import bpy

scene_file, folder, frames, threads = sys.argv[1:]
bpy.ops.wm.open_mainfile(filepath=os.path.abspath(scene_file), load_ui=False)
scene = bpy.context.scene
scene.render.threads_mode, scene.render.threads = "FIXED", int(threads)
scene.frame_start, scene.frame_end = 1, int(frames)
scene.render.filepath = os.path.join(os.path.abspath(folder), "frame_####.png")
bpy.ops.render.render(animation=True)
sys.stdout.flush()
os._exit(0)  # Blender's own end takes time and has been seen to hang
