import { exactTime } from '../../components/time.tsx'
import { chunksOf } from './run-words.ts'

/** The reason for which a run waits, with its times in the reader's own zone. */
export function waitingReason(reason: string) {
  return chunksOf(reason)
    .map(({ kind, text }) => (kind === 'time' ? exactTime(text) : text))
    .join('')
}
