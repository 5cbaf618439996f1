import { ArrowDown } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { type Choice, Picker, type PickerPopupProps } from '../../components/picker.tsx'
import { findWorkspaces } from '../workspaces/workspaces.ts'
import { findDestinations, useAddTrigger } from './run-triggers.ts'

type NewTriggerDialogProps = { organization: string; isOpen: boolean; onClose: () => void }

export function NewTriggerDialog({ organization, isOpen, onClose }: NewTriggerDialogProps) {
  const add = useAddTrigger()
  const [source, setSource] = useState<Choice>()
  const [destination, setDestination] = useState<Choice>()
  const form = useId()

  function close() {
    add.reset()
    setSource(undefined)
    setDestination(undefined)
    onClose()
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    if (!source || !destination) return
    add.mutate(
      { workspaceId: destination.value, sourceId: source.value },
      {
        onSuccess: () => {
          toast({ text: `Applies in ${source.text} now start runs in ${destination.text}` })
          close()
        },
      },
    )
  }
  return (
    <Dialog
      title="New run trigger"
      about="Each apply in the source workspace will start a run in the destination."
      isOpen={isOpen}
      onClose={close}
      footer={
        <>
          <Button label="Cancel" onClick={close} />
          <Button
            label="Create run trigger"
            type="submit"
            form={form}
            kind="primary"
            isPending={add.isPending}
            reason={source && destination ? undefined : 'select both workspaces first'}
          />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-3">
        <Side
          title="Source workspace"
          label="Select source"
          choice={source}
          about={['workspaces', organization, 'sources', destination?.value]}
          load={findWorkspaces(organization, new Set([destination?.value]))}
          onChoose={setSource}
        />
        <ArrowDown size={18} className="text-dim" />
        <Side
          title="Destination workspace"
          label="Select destination"
          hint="Workspaces of which you are an administrator."
          choice={destination}
          about={['workspaces', organization, 'destinations', source?.value]}
          load={findDestinations(organization, source?.value)}
          onChoose={setDestination}
        />
        {add.error && <ErrorNote error={add.error} />}
      </form>
    </Dialog>
  )
}

type SideProps = Omit<PickerPopupProps, 'placeholder'> & { title: string; choice: Choice | undefined; hint?: string }

function Side({ title, choice, hint, ...picker }: SideProps) {
  return (
    <div>
      <p className="font-medium">{title}</p>
      {hint !== undefined && <p className="text-dim">{hint}</p>}
      <p className="mt-1 flex flex-wrap items-center gap-3">
        <Picker {...picker} placeholder="Workspace name" />
        <span role="status" className={choice ? 'font-medium' : 'text-dim'}>
          {choice?.text ?? 'none selected'}
        </span>
      </p>
    </div>
  )
}
