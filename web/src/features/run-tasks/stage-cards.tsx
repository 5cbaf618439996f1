import { Globe, OctagonX, TriangleAlert } from 'lucide-react'
import { Badge } from '../../components/status.tsx'
import { LEVELS, STAGES, type Task, type WorkspaceTask, pendingTasks } from './workspace-tasks.ts'

/** Tasks of the workspace's runs, by stage in order. */
export function StageCards({ tasks, attachments }: { tasks: readonly Task[]; attachments: readonly WorkspaceTask[] }) {
  return (
    <ol className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
      {pendingTasks(tasks, attachments).map(({ stage, asked }) => (
        <li key={stage} className="rounded-lg border border-line bg-paper px-4 py-3">
          <h2 className="font-medium">{STAGES[stage].text}</h2>
          <p className="text-dim">{STAGES[stage].about}</p>
          {asked.length === 0 ? (
            <p className="mt-2 text-dim">No task is asked.</p>
          ) : (
            <ul className="mt-2 space-y-1.5">
              {asked.map(({ task, level, isGlobal }) => (
                <li key={task.id} className="flex flex-wrap items-center gap-1.5">
                  <span className="min-w-0 font-medium">{task.attributes.name}</span>
                  <Badge
                    tone={level === 'mandatory' ? 'bad' : 'warn'}
                    icon={level === 'mandatory' ? OctagonX : TriangleAlert}
                    title={stage === 'post_apply' ? STAGES.post_apply.about : LEVELS[level].about}
                  >
                    {stage === 'post_apply' && level === 'mandatory' ? 'fails the stage' : LEVELS[level].verb}
                  </Badge>
                  {isGlobal && (
                    <Badge icon={Globe} title="The organization asks it in every workspace">
                      everywhere
                    </Badge>
                  )}
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  )
}
