// Writes shared/api/*.gen.ts from the contracts in ../api.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

const contracts = new URL('../../api/', import.meta.url)
const out = new URL('../shared/api/', import.meta.url)

for (const name of ['client', 'studio', 'portal']) {
  const contract = new URL(`${name}.yaml`, contracts)
  if (!existsSync(contract)) continue
  const types = await openapiTS(contract, { emptyObjectsUnknown: true, exportType: false })
  await writeFile(
    new URL(`${name}.gen.ts`, out),
    `// Generated from api/${name}.yaml by npm run generate.\n\n${astToString(types)}`,
  )
}
