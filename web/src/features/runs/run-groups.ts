import type { RunGroup } from '@groundstate/contract/run-status'
import { Ban, CircleCheck, CircleX, Clock, Hand, LoaderCircle, type LucideIcon } from 'lucide-react'
import type { Tone } from '../../components/status.tsx'

/** Icons and colours of run statuses by their group, and the text of filters. */
export const GROUP_LOOKS = {
  needs_approval: { text: 'Needs approval', tone: 'accent', icon: Hand },
  errored: { text: 'Errored', tone: 'bad', icon: CircleX },
  running: { text: 'Running', tone: 'busy', icon: LoaderCircle },
  waiting: { text: 'Waiting', tone: 'warn', icon: Clock },
  finished: { text: 'Finished', tone: 'good', icon: CircleCheck },
  stopped: { text: 'Stopped', tone: 'quiet', icon: Ban },
} as const satisfies Record<RunGroup, { text: string; tone: Tone; icon: LucideIcon }>
