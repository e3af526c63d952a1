// A structure as chemists draw it.

import { useEffect, useRef, useState } from 'react'
import { ask, known, type Picture } from './pictures'

interface DepictionProps {
  smiles: string | null | undefined
  /** Name of the molecule, for those who do not see it. */
  name: string
  width?: number
  height?: number
  className?: string
}

/** Draws a SMILES when it comes into sight. Until then, and where it cannot be drawn, its place stays empty or says so. */
export function Depiction({ smiles, name, width = 160, height = 110, className = '' }: DepictionProps) {
  const place = useRef<HTMLSpanElement>(null)
  const [picture, setPicture] = useState<Picture | undefined>(() => (smiles ? known(smiles, width, height) : null))
  useEffect(() => {
    if (!smiles) return setPicture(null)
    const there = known(smiles, width, height)
    setPicture(there)
    if (there !== undefined) return
    let withdraw: (() => void) | undefined
    const observer = new IntersectionObserver(
      (entries) => {
        const inSight = entries.some((entry) => entry.isIntersecting)
        if (inSight && !withdraw)
          withdraw = ask(smiles, width, height, (made) => {
            observer.disconnect()
            setPicture(made)
          })
        else if (!inSight && withdraw) {
          withdraw()
          withdraw = undefined
        }
      },
      { rootMargin: '100px' },
    )
    observer.observe(place.current!)
    return () => {
      observer.disconnect()
      withdraw?.()
    }
  }, [smiles, width, height])
  return (
    <span
      ref={place}
      className={`inline-grid max-w-full place-items-center overflow-hidden ${className}`}
      style={{ width, height }}
    >
      {picture ? (
        <img
          src={picture}
          alt={`structure of ${name}`}
          width={width}
          height={height}
          className="size-full object-contain dark:hue-rotate-180 dark:invert"
        />
      ) : picture === null ? (
        <span className="text-xs text-soft">no structure</span>
      ) : null}
    </span>
  )
}
