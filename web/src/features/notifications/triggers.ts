import type { SubscribableType, Trigger } from '@groundstate/contract/notification-configurations'
import { capitalized } from '../../components/numbers.ts'

type TriggerText = {
  text: string
  about: string
  /** Nothing on this server raises it: clients of the public API may select it. */
  isSilent?: boolean
}

/** The events of notifications. */
export const TRIGGERS = {
  'run:created': { text: 'Created', about: 'A run was created and waits for its turn.' },
  'run:planning': { text: 'Planning', about: 'A run starts to plan.' },
  'run:needs_attention': {
    text: 'Needs attention',
    about: 'A run waits for a decision, such as the approval of its plan.',
  },
  'run:applying': { text: 'Applying', about: 'A run starts to change infrastructure.' },
  'run:completed': { text: 'Completed', about: 'A run is applied, or has nothing to apply.' },
  'run:errored': { text: 'Errored', about: 'A run failed, or was discarded or canceled.' },
  'assessment:drifted': { text: 'Drift detected', about: 'Infrastructure differs from the state.', isSilent: true },
  'assessment:check_failure': { text: 'Check failed', about: 'A check of the configuration failed.', isSilent: true },
  'assessment:failed': { text: 'Assessment failed', about: 'A health assessment failed.', isSilent: true },
  'workspace:auto_destroy_reminder': {
    text: 'Auto-destroy reminder',
    about: 'An automatic destroy run is imminent.',
    isSilent: true,
  },
  'workspace:auto_destroy_run_results': {
    text: 'Auto-destroy result',
    about: 'An automatic destroy run ended.',
    isSilent: true,
  },
  'workspace:deleted': { text: 'Workspace deleted', about: 'The workspace was deleted.' },
  'change_request:created': { text: 'Change request', about: 'A change request was created.', isSilent: true },
  'team:change_request': { text: 'Change request', about: 'A change request was created.', isSilent: true },
} as const satisfies Record<Trigger, TriggerText>

export const TRIGGER_NAMES = Object.keys(TRIGGERS) as Trigger[]

const ofTeams = (trigger: Trigger) => /^(?:change_request|team):/.test(trigger)

/** The triggers that the form offers: those that this server raises, and others that are selected already. */
export function offeredTriggers(owner: SubscribableType, selected: readonly Trigger[]): readonly Trigger[] {
  return TRIGGER_NAMES.filter(
    (name) =>
      selected.includes(name) ||
      (owner === 'teams' ? name === 'change_request:created' : !ofTeams(name) && !isSilent(name)),
  )
}

export function isSilent(trigger: Trigger) {
  const { isSilent: silent = false }: TriggerText = TRIGGERS[trigger]
  return silent
}

/** "Needs attention, errored": the events of a configuration. */
export function triggersText(triggers: readonly Trigger[]) {
  return capitalized(triggers.map((name) => TRIGGERS[name].text.toLowerCase()).join(', '))
}
