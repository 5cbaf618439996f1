import { appendToJournal, repairJournal, readJournal } from './journal.ts'

/**
 * Records in a file which versions of a workspace have arrived on a server. One line records that a version was begun,
 * with its id there, and another that it is complete. For a version that was begun last and not completed,
 * `isFinalized` says whether only the response was lost. Without a file, nothing is recorded.
 */
export async function checkpoint(
  file: string | undefined,
  workspace: string,
  isFinalized: (targetId: string) => boolean,
) {
  const note = async (line: string) => {
    if (file !== undefined) await appendToJournal(file, `${workspace} ${line}`)
  }
  const finish = async (id: string) => note(`${id} done`)

  if (file !== undefined) await repairJournal(file)
  const arrived = new Map<string, string>()
  const targets = new Map<string, string>()
  let begun: { id: string; targetId: string } | undefined
  for (const line of file === undefined ? [] : await readJournal(file)) {
    const [name, id, word, targetId] = line.split(' ')
    if (name !== workspace || id === undefined) continue
    if (word === 'done') arrived.set(id, targets.get(id) ?? '')
    else if (targetId !== undefined) {
      targets.set(id, targetId)
      arrived.delete(id)
      begun = { id, targetId }
    }
  }
  if (begun && !arrived.has(begun.id) && isFinalized(begun.targetId)) {
    await finish(begun.id)
    arrived.set(begun.id, begun.targetId)
  }
  return { arrived, begin: async (id: string, targetId: string) => note(`${id} as ${targetId}`), finish }
}
