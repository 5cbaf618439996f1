import type { RunGroup } from '@groundstate/contract/runs'
import { Ban, CircleCheck, CircleX, Clock, Hand, LoaderCircle, type LucideIcon } from 'lucide-react'
import type { Tone } from '../../components/status.tsx'

/** How the groups of statuses are shown, in the order of their urgency; the text is that of filters. */
export const GROUP_LOOKS = {
  needs_approval: { text: 'Needs approval', tone: 'accent', icon: Hand },
  errored: { text: 'Errored', tone: 'bad', icon: CircleX },
  running: { text: 'Running', tone: 'busy', icon: LoaderCircle },
  waiting: { text: 'Waiting', tone: 'warn', icon: Clock },
  finished: { text: 'Finished', tone: 'good', icon: CircleCheck },
  stopped: { text: 'Stopped', tone: 'quiet', icon: Ban },
} as const satisfies Record<RunGroup, { text: string; tone: Tone; icon: LucideIcon }>

export const GROUP_NAMES = Object.keys(GROUP_LOOKS) as RunGroup[]
