// A trajectory, played in the viewer: its frames are what the program saved, of everything but water.

import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useState } from 'react'
import type { Output } from '@/api/client'
import { Button, Card, Failure, Loading } from '@/design'
import { Viewer } from '@/viewer'
import { trajectoryScene } from '@/viewer/scenes'
import { size } from '@/words'
import { fetchFile } from './files'

const topologies = ['topology.pdb', 'topology.cif']
const frames = 'trajectory.dcd'

/** What a page holds in memory; larger ones are for programs. */
const mostBytes = 200_000_000
const frameMs = 300

/** The header of a DCD file begins with the length of its first record and "CORD"; the number of frames is next (int32). */
const framesAt = 8

interface Trajectory {
  topology: string
  moves: Uint8Array
  count: number
}

export function Player({ outputs }: { outputs: Output[] }) {
  const topology = outputs.find((one) => topologies.includes(one.name))
  const moving = outputs.find((one) => one.name === frames)
  const [wanted, setWanted] = useState(false)
  const trajectory = useQuery({
    queryKey: ['trajectory', topology?.artifactId, moving?.artifactId],
    queryFn: async (): Promise<Trajectory> => {
      const [text, moves] = await Promise.all([fetchFile(topology!), fetchFile(moving!)])
      const bytes = new Uint8Array(await moves.arrayBuffer())
      return { topology: await text.text(), moves: bytes, count: new DataView(bytes.buffer).getInt32(framesAt, true) }
    },
    enabled: wanted,
    staleTime: Infinity,
    gcTime: 0, // it may be hundreds of megabytes
  })
  if (!topology || !moving) return null
  return (
    <Card title="Trajectory">
      {moving.byteSize > mostBytes ? <p className="text-soft">It has {size(moving.byteSize)}, too much for a page. Download it.</p>
        : !wanted ? <Button onClick={() => setWanted(true)}>Play it here, {size(moving.byteSize + topology.byteSize)}</Button>
        : trajectory.error ? <Failure error={trajectory.error} retry={() => void trajectory.refetch()} />
        : trajectory.data ? <Played {...trajectory.data} file={topology.name} /> : <Loading what="the trajectory" />}
    </Card>
  )
}

function Played({ topology, moves, count, file }: Trajectory & { file: string }) {
  const [at, setAt] = useState(0)
  const [playing, setPlaying] = useState(false)
  const id = useId()
  const files = useMemo(() => ({ [file]: { content: topology }, [frames]: { content: moves } }), [file, topology, moves])
  const scene = useMemo(() => trajectoryScene({ topology: file, frames, frame: at, text: topology }), [file, topology, at])
  useEffect(() => {
    if (!playing) return
    const timer = setInterval(() => setAt((now) => (now + 1) % count), frameMs)
    return () => clearInterval(timer)
  }, [playing, count])
  return (
    <>
      <Viewer scene={scene} files={files} framed={file} label={`Frame ${at + 1} of ${count} of the simulation`} />
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <Button onClick={() => setPlaying(!playing)}>{playing ? 'Pause' : 'Play'}</Button>
        <label htmlFor={id} className="text-sm tabular-nums">Frame {at + 1} of {count}</label>
        <input id={id} type="range" min={1} max={count} value={at + 1} className="min-h-6 min-w-40 flex-1 accent-accent"
          onChange={(event) => setAt(Number(event.target.value) - 1)} />
      </div>
    </>
  )
}
