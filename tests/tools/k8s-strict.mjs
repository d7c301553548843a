#!/usr/bin/env node
// k8s-strict.mjs - check Kubernetes manifests against the API schemas, without a cluster
//
// usage: node k8s-strict.mjs [--modules DIR] [--allow apiVersion/Kind]... [--quiet] FILE... | -
//   FILE       a rendered manifest (the output of "kubectl kustomize", not the sources); "-" is
//              stdin
//   --modules  folder that holds node_modules (default: the first one above the current folder,
//              then above this file)
//   --allow    accept this kind although no schema is installed for it
//   --quiet    print problems only
//
// Packages it needs, pinned by a package-lock.json: yaml, typescript, kubernetes-models, and one
// @kubernetes-models/* package for each custom resource family in use (keda, prometheus-operator).
//
// Two passes over every document:
//   1. The document becomes a TypeScript object literal of the kind's type and the compiler looks
//      for fields the type does not have, wrong enum values, wrong scalar types, missing fields.
//   2. The kind's JSON schema is applied (formats: quantities, int-or-string, patterns).
// Not found by either: port numbers out of range, bad CIDRs, bad object names, a selector that
// matches nothing. Those belong to the project's own semantic test.
//
// exit: 0 clean, 1 problems found, 64 wrong usage, 77 can not run here (packages not installed).
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const args = process.argv.slice(2);
const files = [];
const allowed = new Set();
let modules = null;
let quiet = false;
while (args.length) {
  const a = args.shift();
  if (a === '--modules' && args.length) modules = path.resolve(args.shift());
  else if (a === '--allow' && args.length) allowed.add(args.shift());
  else if (a === '--quiet') quiet = true;
  else if (a.startsWith('--')) usage(`unknown option ${a}`);
  else files.push(a);
}
if (!files.length) usage('no file given');

function usage(why) {
  console.error(`k8s-strict: ${why}\n` +
    'usage: k8s-strict.mjs [--modules DIR] [--allow apiVersion/Kind]... [--quiet] FILE... | -');
  process.exit(64);
}
function skip(why) {
  console.error(`k8s-strict: SKIP: ${why}`);
  process.exit(77);
}

// ---- packages ---------------------------------------------------------------------------------
function folderAbove(start) {
  for (let d = start; ; d = path.dirname(d)) {
    if (fs.existsSync(path.join(d, 'node_modules', 'kubernetes-models'))) return d;
    if (d === path.dirname(d)) return null;
  }
}
modules ??= folderAbove(process.cwd()) ?? folderAbove(path.dirname(fileURLToPath(import.meta.url)));
if (!modules) skip('npm package kubernetes-models is not installed (npm ci)');
const packages = path.join(modules, 'node_modules');
const load = createRequire(path.join(modules, 'package.json'));
let ts, parseAllDocuments;
try {
  ts = load('typescript');
  ({ parseAllDocuments } = load('yaml'));
} catch (e) {
  skip(`npm packages missing: ${e.message.split('\n')[0]}`);
}
const schemaPackages = ['kubernetes-models'];
const scope = path.join(packages, '@kubernetes-models');
if (fs.existsSync(scope)) {
  for (const name of fs.readdirSync(scope).sort()) {
    if (!['apimachinery', 'base', 'validate'].includes(name)) {
      schemaPackages.push(`@kubernetes-models/${name}`);
    }
  }
}

// ---- read ---------------------------------------------------------------------------------------
const documents = []; // { label, object, module }
const seen = new Map();
let problems = 0;
function problem(label, text) {
  problems++;
  console.log(`${label}: ${text}`);
}

function take(file, object) {
  if (object === null || object === undefined) return;
  if (object.kind === 'List' && Array.isArray(object.items)) {
    object.items.forEach((item) => take(file, item));
    return;
  }
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    problem(file, 'a document without apiVersion or kind');
    return;
  }
  const label = `${file} ${kind}/${metadata?.name ?? '(no name)'}`;
  const identity = [apiVersion, kind, metadata?.namespace ?? '', metadata?.name ?? ''].join(' ');
  if (seen.get(identity) === file) problem(label, 'the same object twice');
  seen.set(identity, file);

  // kustomize wraps long values; Kubernetes reads them so, the pattern of the schema does not.
  if (kind === 'Secret') {
    for (const [key, value] of Object.entries(object.data ?? {})) {
      object.data[key] = String(value).replace(/\s/g, '');
    }
  }
  const owner = schemaPackages.find((p) =>
    fs.existsSync(path.join(packages, p, apiVersion, `${kind}.d.ts`)));
  if (!owner) {
    if (!allowed.has(`${apiVersion}/${kind}`)) {
      problem(label, `no schema for ${apiVersion} ${kind}`);
    }
    return;
  }
  documents.push({ label, object, module: path.join(packages, owner, apiVersion, kind) });
}

for (const file of files) {
  const label = file === '-' ? 'stdin' : file;
  const text = fs.readFileSync(file === '-' ? 0 : file, 'utf8');
  for (const document of parseAllDocuments(text, { uniqueKeys: true })) {
    document.errors.forEach((e) => problem(label, e.message.split('\n')[0]));
    if (!document.errors.length) take(label, document.toJS());
  }
}
if (!documents.length && !problems) problem(files.join(' '), 'no documents');

// ---- pass 1: excess and missing fields, enums, scalar types -------------------------------------
let source = '';
documents.forEach((d, i) => {
  const module = JSON.stringify(`${d.module}.js`);
  source += `import type { I${d.object.kind} as T${i} } from ${module};\n`;
});
documents.forEach((d, i) => {
  d.start = source.length;
  source += `const d${i}: T${i} = ${JSON.stringify(d.object, null, 1)};\n`;
});
const virtual = path.join(modules, '__manifests__.ts');
const options = {
  strict: true, noEmit: true, skipLibCheck: true, types: [],
  module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
};
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists } = host;
const tree = ts.createSourceFile(virtual, source, options.target, true);
host.getSourceFile = (name, ...rest) => (name === virtual ? tree : getSourceFile(name, ...rest));
host.fileExists = (name) => name === virtual || fileExists(name);

function fieldAt(position) { // spec.template.spec.containers[0].ports
  const names = [];
  (function descend(node) {
    ts.forEachChild(node, (child) => {
      if (position < child.pos || position >= child.end) return;
      if (ts.isPropertyAssignment(child)) names.push(`.${child.name.text}`);
      if (ts.isArrayLiteralExpression(node)) names.push(`[${node.elements.indexOf(child)}]`);
      descend(child);
    });
  })(tree);
  return names.join('').replace(/^\./, '') || '(whole object)';
}

for (const d of ts.getPreEmitDiagnostics(ts.createProgram([virtual], options, host))) {
  const whole = ts.flattenDiagnosticMessageText(d.messageText, ' ');
  const text = whole.replace(/\s+/g, ' ').slice(0, 240);
  const owner = d.file?.fileName === virtual ? documents.findLast((x) => x.start <= d.start) : null;
  if (owner) problem(owner.label, `${fieldAt(d.start)}: ${text}`);
  else problem('schema packages', text);
}

// ---- pass 2: JSON schema ------------------------------------------------------------------------
for (const d of documents) {
  const file = ['.mjs', '.js'].map((ext) => d.module + ext).find((f) => fs.existsSync(f));
  const model = file && (await import(pathToFileURL(file)))[d.object.kind];
  if (!model) continue;
  try {
    new model(d.object).validate();
  } catch (e) {
    problem(d.label, String(e.message).replace(/\s+/g, ' ').slice(0, 240));
  }
}

if (!quiet || problems) console.log(`${documents.length} documents, ${problems} problems`);
process.exit(problems ? 1 : 0);
