import { refuseTakenName } from '../../../db/taken-name.ts'

/** Runs `work`, and throws `invalid` when another task of the organization has the name that it stores. */
export async function refuseTakenTaskName<T>(name: string, work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'tasks_name_key', detail: `Name ${name} has already been taken` }, work)
}
