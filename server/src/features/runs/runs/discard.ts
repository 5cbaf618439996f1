import type { Ctx } from '../../../app.ts'
import { conflict } from '../../../errors.ts'
import { act } from './act.ts'
import type { Run } from './run.ts'
import { isCancelable, isDiscardable } from './status.ts'

/** Ends a run that waits for a confirmation, or for its turn. */
export async function discardRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'discarded', comment }, async (_, { run }) => {
    if (!isDiscardable(run)) {
      const hint = isCancelable(run) ? 'cancel it instead' : 'there is nothing to discard'
      throw conflict(`the run is ${run.status}: ${hint}`)
    }
    return { requested: 'discard' }
  })
}
