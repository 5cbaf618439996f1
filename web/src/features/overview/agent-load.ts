import { counted } from '../../components/numbers.ts'
import type { Overview } from './overview.ts'

type Facts = Pick<Overview, 'agents' | 'jobs'>

/** How busy agents are, in words: "3 of 5 agents busy". `isLacking` says that nothing can run now. */
export function agentLoad({ agents, jobs }: Facts): { text: string; isLacking: boolean } {
  const atWork = `${counted(jobs.running, 'run')} at work`
  // Who may not see agents sees what they do.
  if (agents === null) return { text: atWork, isLacking: false }
  if (agents.online > 0) {
    const own = `${agents.busy} of ${counted(agents.online, 'agent')} busy`
    return { text: agents['is-built-in-online'] ? `${own}, beside those of the server` : own, isLacking: false }
  }
  if (!agents['is-built-in-online']) return { text: 'No agent is online: nothing can run', isLacking: true }
  return {
    text: jobs.running === 0 ? 'No run is at work' : `${atWork}, on the agents of the server`,
    isLacking: false,
  }
}
