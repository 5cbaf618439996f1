import type { TaskOutcome } from '@groundstate/contract/run-tasks'
import type { App } from '../../../app.ts'
import type { NewOutcome } from './outcomes-store.ts'

/** The rows for the outcomes of a callback. Of several with the same id, the last one counts. */
export function newOutcomes({ newId }: Pick<App, 'newId'>, outcomes: readonly TaskOutcome[]): NewOutcome[] {
  const byId = new Map(outcomes.map((outcome) => [outcome['outcome-id'], outcome]))
  return [...byId.values()].map((outcome) => ({
    id: newId('taskrso'),
    outcome_id: outcome['outcome-id'],
    description: outcome.description,
    url: outcome.url || null,
    tags: outcome.tags ? JSON.stringify(tagGroups(outcome.tags)) : null,
    body: outcome.body ?? null,
  }))
}

/** Groups of tags as clients read them: a list, with the names as the receiver spells them. */
function tagGroups(tags: NonNullable<TaskOutcome['tags']>) {
  return Object.entries(tags).map(([label, value]) => ({ label, value }))
}
