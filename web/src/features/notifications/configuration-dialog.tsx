import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CheckField, FormErrors, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import {
  ADDRESSES_POINTER,
  AddressFields,
  DestinationField,
  TRIGGERS_POINTER,
  TriggerFields,
  USERS_POINTER,
} from './configuration-fields.tsx'
import { NEW_CONFIGURATION, configurationBody, configurationValues, selectedTriggers } from './configuration-form.ts'
import { DESTINATIONS } from './destinations.ts'
import { type Configuration, type Owner, type ShownConfiguration, useSaveConfiguration } from './notifications.ts'
import { offeredTriggers } from './triggers.ts'

const NAMES = [
  'name',
  'destination-type',
  'enabled',
  'email-all-members',
  ADDRESSES_POINTER,
  TRIGGERS_POINTER,
  USERS_POINTER,
] as const
const URL_NAMES = ['url', 'token'] as const

type DialogProps = {
  owner: Owner
  /** The configuration to change; undefined for a new one. */
  shown?: ShownConfiguration | undefined
  onClose: () => void
  onSaved: (configuration: Configuration) => void
}

/** A new notification configuration, or changes to one. */
export function ConfigurationDialog({ owner, shown, onClose, onSaved }: DialogProps) {
  const configuration = shown?.configuration
  const save = useSaveConfiguration(owner, configuration?.id)
  const draft = useDraft(configuration ? configurationValues(configuration) : NEW_CONFIGURATION)
  const saved = shown?.recipients ?? []
  const [recipients, setRecipients] = useState(saved)
  const form = useRef<HTMLFormElement>(null)
  const id = useId()
  const { values, changed, error, setError } = draft
  const offered = offeredTriggers(owner.kind, configuration?.attributes.triggers ?? [])
  const areRecipientsChanged = idsOf(recipients).join() !== idsOf(saved).join()
  const isChanged = configuration === undefined || draft.isDirty || areRecipientsChanged
  const isEmpty = selectedTriggers(values, offered).length === 0
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  function submit(event: FormEvent) {
    event.preventDefault()
    if (save.isPending || !isChanged) return
    setError(null)
    const body = configurationBody(configuration ? changed : values, values, offered, idsOf(recipients))
    save.mutate(body, {
      onError: setError,
      onSuccess: ({ data }) => {
        toast({ text: `Notification ${data.attributes.name} ${configuration ? 'saved' : 'created'}` })
        onSaved(data)
      },
    })
  }
  return (
    <Dialog
      title={configuration ? `Edit ${configuration.attributes.name}` : 'New notification'}
      about={configuration && DESTINATIONS[values.type].text}
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button
            label={configuration ? 'Save' : 'Create notification'}
            type="submit"
            form={id}
            kind="primary"
            isPending={save.isPending}
            reason={isChanged ? undefined : 'no changes to save'}
          />
        </>
      }
    >
      <form ref={form} id={id} noValidate onSubmit={submit} className="space-y-4">
        {!configuration && <DestinationField draft={draft} />}
        <TextField label="Name" {...draft.text('name')} placeholder={PLACEHOLDERS[values.type]} autoComplete="off" />
        <AddressFields
          owner={owner}
          draft={draft}
          hasToken={configuration?.attributes['has-token'] ?? false}
          recipients={recipients}
          onRecipients={setRecipients}
        />
        <TriggerFields draft={draft} offered={offered} />
        {isEmpty && <p className="text-dim">Without events, nothing is sent except tests.</p>}
        <CheckField
          label="Enabled"
          hint={
            values.type === 'email'
              ? 'Mails are sent from now on.'
              : 'A test is sent when you save, and the destination must accept it.'
          }
          {...draft.check('enabled')}
        />
        <FormErrors error={error} names={values.type === 'email' ? NAMES : [...NAMES, ...URL_NAMES]} />
      </form>
    </Dialog>
  )
}

/** Examples of names, by destination. */
const PLACEHOLDERS = {
  slack: '#deployments',
  'microsoft-teams': 'Deployments',
  email: 'On-call',
  generic: 'Event bus',
} as const

function idsOf(recipients: readonly { id: string }[]) {
  return recipients.map((recipient) => recipient.id)
}
