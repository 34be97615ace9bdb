// Makes src/api_types.ts from src/app/schemas.json, the schemas of the OpenAPI document.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = new URL('../../src/app/schemas.json', import.meta.url);
const target = new URL('../src/api_types.ts', import.meta.url);

function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.enum) return schema.enum.map((each) => `'${each}'`).join(' | ');
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return `Array<${schema.items ? typeOf(schema.items, indent) : 'unknown'}>`;
    case 'object':
      return objectOf(schema, indent);
    default:
      return 'unknown';
  }
}

function objectOf(schema, indent) {
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return `Record<string, ${values ? typeOf(values, indent) : 'unknown'}>`;
  }
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) => {
    const words = member.description ? `  // ${member.description}` : '';
    const type = typeOf(member, indent + '  ');
    return `${indent}  ${name}${required.has(name) ? '' : '?'}: ${type};${words}\n`;
  });
  return `{\n${members.join('')}${indent}}`;
}

export function typesText() {
  const schemas = JSON.parse(readFileSync(source, 'utf8'));
  let text = '// Made from src/app/schemas.json by scripts/types.mjs; do not change it by hand.\n';
  for (const [name, schema] of Object.entries(schemas)) {
    text += `\nexport type ${name} = ${typeOf(schema, '')};\n`;
  }
  return text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, typesText());
