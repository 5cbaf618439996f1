import { useEffect, useEffectEvent, useState } from 'react'

const TYPES = ['dragover', 'dragleave', 'drop'] as const

/** Receives files that are dropped anywhere on the page. Returns whether files are dragged over it. */
export function useFileDrop(onDrop: (files: DataTransfer) => void) {
  const [isOver, setIsOver] = useState(false)
  const onDrag = useEffectEvent((event: DragEvent) => {
    if (!event.dataTransfer?.types.includes('Files')) return
    // Otherwise the browser would leave the page and open the file.
    event.preventDefault()
    setIsOver(event.type === 'dragover')
    if (event.type === 'drop') onDrop(event.dataTransfer)
  })
  useEffect(() => {
    const listener = (event: DragEvent) => onDrag(event)
    for (const type of TYPES) window.addEventListener(type, listener)
    return () => {
      for (const type of TYPES) window.removeEventListener(type, listener)
    }
  }, [])
  return isOver
}
