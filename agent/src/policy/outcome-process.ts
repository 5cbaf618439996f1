import { type SetOutcomes, reportedSets } from './outcome.ts'

// A process, since a thread would leave the memory for a large plan with the agent.
process.once('message', (message) => {
  const { inputFile, sets } = message as { inputFile: string; sets: SetOutcomes[] } // from evaluation.ts
  process.send?.(reportedSets(sets, inputFile))
})
// Its agent has died.
process.once('disconnect', () => process.exit())
