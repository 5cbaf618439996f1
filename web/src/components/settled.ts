import { useEffect, useState } from 'react'

const PAUSE_MS = 150

/** A text once nobody has typed for a moment, for what is asked of the server. */
export function useSettled(text: string) {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
