import type { Ctx } from '../../../app.ts'
import { refuseTakenName } from '../../../db/taken-name.ts'
import { invalid } from '../../../errors.ts'
import * as store from './store.ts'

const detailOf = (name: string) => `Name ${name} has already been taken`

/** Runs `work`, and throws `invalid` when another task of the organization has the name that it stores. */
export async function refuseTakenTaskName<T>(name: string, work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'tasks_name_key', detail: detailOf(name) }, work)
}

/** As `refuseTakenTaskName`, before a receiver is asked for nothing. `id` is that of the task, once it has one. */
export async function requireFreeTaskName(ctx: Ctx, organizationId: string, task: { name: string; id?: string }) {
  if (await store.isNameTaken(ctx.db, organizationId, task)) throw invalid(detailOf(task.name), '/data/attributes/name')
}
