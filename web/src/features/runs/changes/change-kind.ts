import { ArrowRightLeft, Eye, LogOut, Minus, Pencil, Plus, RefreshCw, Shuffle, type LucideIcon } from 'lucide-react'
import type { Tone } from '../../../components/status.tsx'
import type { ChangeKind } from './plan-model.ts'

/** What a change does, in the words of the field; `done` is for after the apply. */
export const KIND_LOOKS = {
  create: { word: 'create', done: 'created', icon: Plus, tone: 'good' },
  update: { word: 'update', done: 'updated', icon: Pencil, tone: 'warn' },
  replace: { word: 'replace', done: 'replaced', icon: RefreshCw, tone: 'bad' },
  destroy: { word: 'destroy', done: 'destroyed', icon: Minus, tone: 'bad' },
  read: { word: 'read', done: 'read', icon: Eye, tone: 'busy' },
  forget: { word: 'forget', done: 'forgotten', icon: LogOut, tone: 'warn' },
  none: { word: 'no change', done: 'in the state', icon: ArrowRightLeft, tone: 'quiet' },
} as const satisfies Record<ChangeKind, { word: string; done: string; icon: LucideIcon; tone: Tone }>

export const DRIFT_LOOK = { icon: Shuffle, tone: 'warn' } as const
