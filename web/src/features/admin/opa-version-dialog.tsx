import { OPA_ARCHITECTURES, OPA_SYSTEMS } from '@groundstate/contract/opa-versions'
import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, CheckField, FormErrors, SelectField, TextField, fieldError } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { type Binary, type OpaVersion, officialBinaries, useSaveOpaVersion } from './opa-versions.ts'

const NAMES = ['version', 'enabled', 'beta', 'deprecated', 'deprecated-reason']
const NO_BINARY: Binary = { os: 'linux', arch: 'amd64', url: '', sha: '' }
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/

type OpaVersionDialogProps = {
  /** The edited version; undefined for a new one. */
  version: OpaVersion | undefined
  onClose: () => void
}

export default function OpaVersionDialog({ version, onClose }: OpaVersionDialogProps) {
  const saved = version?.attributes
  const save = useSaveOpaVersion(version?.id)
  const [binaries, setBinaries] = useState<readonly Binary[]>(
    () => saved?.archs.map((binary) => ({ ...binary, sha: binary.sha ?? '' })) ?? [NO_BINARY],
  )
  const [isOfficial, setOfficial] = useState(saved?.official ?? false)
  const { values, text, check } = useDraft({
    version: saved?.version ?? '',
    enabled: saved?.enabled ?? true,
    beta: saved?.beta ?? false,
    deprecated: saved?.deprecated ?? false,
    reason: saved?.['deprecated-reason'] ?? '',
  })
  const { error } = save
  const isUsed = (saved?.usage ?? 0) > 0
  const number = values.version.trim()

  function submit() {
    const { enabled, beta, deprecated, reason } = values
    save.mutate(
      {
        version: number,
        official: isOfficial,
        enabled,
        beta,
        deprecated,
        'deprecated-reason': deprecated ? reason : null,
        archs: binaries,
      },
      {
        onSuccess: () => {
          toast({ text: `OPA ${number} saved` })
          onClose()
        },
      },
    )
  }
  return (
    <FormDialog
      title={saved ? `OPA ${saved.version}` : 'New OPA version'}
      action={saved ? 'Save' : 'Create version'}
      isPending={save.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Version"
        placeholder="1.4.2"
        {...text('version')}
        error={fieldError(error, 'version')}
        disabled={isUsed}
        hint={isUsed ? 'Policy sets name it, so it can be neither changed nor disabled.' : undefined}
        required
        autoFocus
        {...CODE_INPUT}
      />
      <CheckField
        label="Enabled"
        hint="Policy sets may use it."
        {...check('enabled')}
        disabled={isUsed}
        error={fieldError(error, 'enabled')}
      />
      <CheckField label="Beta" hint="Only for sets that name it, not as latest." {...check('beta')} />
      <CheckField label="Deprecated" hint="Not used as latest any more." {...check('deprecated')} />
      {values.deprecated && (
        <TextField
          label="Reason (optional)"
          {...text('reason')}
          maxLength={1000}
          error={fieldError(error, 'deprecated-reason')}
          autoComplete="off"
        />
      )}
      <Binaries
        binaries={binaries}
        error={error}
        onChange={(next) => {
          setBinaries(next)
          setOfficial(false)
        }}
      />
      <Button
        label="Official binaries"
        reason={VERSION.test(number) ? undefined : 'enter the version first'}
        onClick={() => {
          setBinaries(officialBinaries(number))
          setOfficial(true)
        }}
      />
      <FormErrors error={error} names={[...NAMES, ARCHS]} />
    </FormDialog>
  )
}

const ARCHS = /^\/data\/attributes\/archs(?:\/\d+\/(?:url|sha|os|arch))?$/

type BinariesProps = {
  binaries: readonly Binary[]
  error: Error | null
  onChange: (binaries: readonly Binary[]) => void
}

/** The addresses of the binary by platform. */
function Binaries({ binaries, error, onChange }: BinariesProps) {
  const change = (index: number, values: Partial<Binary>) =>
    onChange(binaries.map((binary, at) => (at === index ? { ...binary, ...values } : binary)))
  return (
    <fieldset className="space-y-3">
      <legend className="font-medium">Binaries</legend>
      {binaries.map((binary, index) => (
        <fieldset
          // oxlint-disable-next-line react/no-array-index-key -- two may be equal while they are edited
          key={index}
          aria-label={`Binary ${index + 1}`}
          className="grid grid-cols-2 gap-3 rounded-md border border-line p-3 sm:grid-cols-[1fr_1fr_auto]"
        >
          <SelectField
            label="System"
            value={binary.os}
            onChange={({ target }) => change(index, { os: target.value })}
            options={OPA_SYSTEMS.map((os) => [os, os] as const)}
            error={fieldError(error, `archs/${index}/os`)}
          />
          <SelectField
            label="Architecture"
            value={binary.arch}
            onChange={({ target }) => change(index, { arch: target.value })}
            options={OPA_ARCHITECTURES.map((arch) => [arch, arch] as const)}
            error={fieldError(error, `archs/${index}/arch`)}
          />
          <div className="self-end max-sm:col-span-2">
            <IconButton
              label={`Remove binary ${index + 1}`}
              icon={Trash2}
              onClick={() => onChange(binaries.filter((_, at) => at !== index))}
            />
          </div>
          <div className="col-span-full">
            <TextField
              label="URL"
              className="font-mono"
              value={binary.url}
              onChange={({ target }) => change(index, { url: target.value })}
              error={fieldError(error, `archs/${index}/url`)}
              {...CODE_INPUT}
            />
          </div>
          <div className="col-span-full">
            <TextField
              label="SHA-256 (optional)"
              hint="Without it, agents read the one that is published next to the binary."
              className="font-mono"
              value={binary.sha}
              onChange={({ target }) => change(index, { sha: target.value })}
              error={fieldError(error, `archs/${index}/sha`)}
              {...CODE_INPUT}
            />
          </div>
        </fieldset>
      ))}
      <FieldAlert text={fieldError(error, 'archs')} />
      <Button label="Add binary" icon={Plus} size="small" onClick={() => onChange([...binaries, NO_BINARY])} />
    </fieldset>
  )
}
