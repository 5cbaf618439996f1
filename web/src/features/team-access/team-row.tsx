import { Pencil, UserMinus } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AccessForm } from './access-form.tsx'
import { accessWords, LEVELS } from './access-words.ts'
import { type TeamWorkspace, useChangeTeam, useRemoveTeam } from './team-access.ts'

/** A team with access to the workspace itself, and the ways to change that. */
export function TeamRow({ entry, team }: { entry: TeamWorkspace; team: string }) {
  const { workspace } = useOpenWorkspace()
  const [isChanging, setIsChanging] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const change = useChangeTeam(workspace.id)
  const remove = useRemoveTeam(workspace.id)
  const { name, permissions } = workspace.attributes

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
            {team} <Badge>{LEVELS[entry.attributes.access].text}</Badge>
          </h3>
          <p className="text-dim">{accessWords(entry.attributes)}</p>
        </div>
        {permissions['can-update'] && !isChanging && (
          <div className="flex flex-wrap gap-2">
            <Button
              ref={opener}
              size="small"
              icon={Pencil}
              aria-label={`Change the access of ${team}`}
              onClick={() => setIsChanging(true)}
            >
              Change
            </Button>
            <Confirm
              label="Remove"
              icon={UserMinus}
              size="small"
              title={`Remove ${team} from ${name}?`}
              consequence="Its members keep what the project or the organization gives them."
              action={`Remove ${team}`}
              onConfirm={async () => {
                await remove.mutateAsync(entry.id)
                toast({ text: `${team} is removed` })
              }}
            />
          </div>
        )}
      </div>
      {isChanging && (
        <AccessForm
          saved={entry.attributes}
          action="Save"
          error={change.error}
          isPending={change.isPending}
          onCancel={close}
          onSubmit={(attributes) =>
            change.mutate(
              { id: entry.id, attributes },
              {
                onSuccess: () => {
                  toast({ text: `The access of ${team} is changed` })
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
