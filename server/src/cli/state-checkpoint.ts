import { appendToJournal, mendJournal, readJournal } from './journal.ts'

/**
 * Remembers in a file which versions of a workspace have arrived on a server: a line says that a version was begun, and as
 * which version there, another one that it is complete. Of one that was begun last, and not completed, `isFinalized` tells
 * whether the answer was all that got lost. Without a file nothing is remembered.
 */
export async function checkpoint(
  file: string | undefined,
  workspace: string,
  isFinalized: (targetId: string) => Promise<boolean>,
) {
  const note = async (line: string) => {
    if (file !== undefined) await appendToJournal(file, `${workspace} ${line}`)
  }
  const finish = async (id: string) => note(`${id} done`)

  if (file !== undefined) await mendJournal(file)
  const done = new Set<string>()
  let begun: { id: string; targetId: string } | undefined
  for (const line of file === undefined ? [] : await readJournal(file)) {
    const [name, id, word, targetId] = line.split(' ')
    if (name !== workspace || id === undefined) continue
    if (word === 'done') done.add(id)
    else if (targetId !== undefined) begun = { id, targetId }
  }
  if (begun && !done.has(begun.id) && (await isFinalized(begun.targetId))) {
    await finish(begun.id)
    done.add(begun.id)
  }
  return { done, begin: async (id: string, targetId: string) => note(`${id} as ${targetId}`), finish }
}
