import { Pencil, Unplug } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import { AttachmentForm } from './attachment-form.tsx'
import { LEVELS, STAGES, type Task, type WorkspaceTask, useChangeAttachment, useDetachTask } from './workspace-tasks.ts'

/** One task that is attached to the workspace: at which stages, how strictly, and the ways to change that. */
export function AttachedTask({ workspaceId, workspaceName, attachment, task, mayManage }: AttachedTaskProps) {
  const [isChanging, setIsChanging] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const change = useChangeAttachment(workspaceId)
  const detach = useDetachTask(workspaceId)
  const { stages, 'enforcement-level': level } = attachment.attributes
  const name = task?.attributes.name ?? 'A run task'

  function close() {
    setIsChanging(false)
    // The button is drawn again by then.
    requestAnimationFrame(() => opener.current?.focus())
  }

  return (
    <li className="space-y-3 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <h3 className="flex flex-wrap items-center gap-2 font-medium">
            {name}
            {task && !task.attributes.enabled && <Badge>switched off</Badge>}
          </h3>
          {task?.attributes.description && <p className="text-dim">{task.attributes.description}</p>}
          <p className="mt-1">
            {stages.map((stage) => STAGES[stage].text).join(', ')} · {LEVELS[level].text.toLowerCase()}:{' '}
            {LEVELS[level].about.toLowerCase().replace(/\.$/, '')}
          </p>
          {task && <p className="mt-0.5 font-mono text-[0.9285em] text-dim">{task.attributes.url}</p>}
        </div>
        {mayManage && !isChanging && (
          <div className="flex flex-wrap gap-2">
            <Button
              ref={opener}
              size="small"
              icon={Pencil}
              aria-label={`Change ${name}`}
              onClick={() => setIsChanging(true)}
            >
              Change
            </Button>
            <Confirm
              label="Detach"
              icon={Unplug}
              size="small"
              title={`Detach ${name} from ${workspaceName}?`}
              consequence="Runs that are started from now on do not ask it. The task stays in the organization."
              action={`Detach ${name}`}
              onConfirm={async () => {
                await detach.mutateAsync(attachment.id)
                toast({ text: `${name} is detached` })
              }}
            />
          </div>
        )}
      </div>
      {isChanging && (
        <AttachmentForm
          saved={{ stages: [...stages], 'enforcement-level': level }}
          action="Save"
          error={change.error}
          isPending={change.isPending}
          onCancel={close}
          onSubmit={(_, attributes) =>
            change.mutate(
              { id: attachment.id, attributes },
              {
                onSuccess: () => {
                  toast({ text: `${name} is changed` })
                  close()
                },
              },
            )
          }
        />
      )}
    </li>
  )
}

type AttachedTaskProps = {
  workspaceId: string
  workspaceName: string
  attachment: WorkspaceTask
  /** Undefined where the person may not see the tasks of the organization. */
  task: Task | undefined
  mayManage: boolean
}
