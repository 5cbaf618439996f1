import { refuseTakenName } from '../../../db/taken-name.ts'

export async function refuseTakenProjectName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'projects_name_key' }, work)
}
