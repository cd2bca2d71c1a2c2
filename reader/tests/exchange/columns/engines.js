// Runs SQL in DuckDB or ClickHouse for the checks beside it, with the packages of npm in build/npm.
//
//     node engines.js duckdb|clickhouse    standard input: a JSON array of statements
//
// Prints a JSON array with {columns, rows, ms} or {error} for each. All values are text, or null.
//
// SPDX-License-Identifier: MIT

const fs = require('fs');
const os = require('os');
const path = require('path');
const modules = path.join(__dirname, '../../../../build/npm/node_modules');

async function duckdb() {
    const {DuckDBInstance} = require(path.join(modules, '@duckdb/node-api'));
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const run = async (statement) => {
        const reader = await connection.runAndReadAll(statement);
        return {columns: reader.columnNames(), rows: reader.getRowsJson()};
    };
    return {run, close: () => {}};
}

async function clickhouse() {
    const {Session} = require(path.join(modules, 'chdb'));
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tracebed-clickhouse-'));
    const session = new Session(folder);
    const run = async (statement) => {
        const text = session.query(statement, 'JSONCompact').toString();
        const found = text.startsWith('{') ? JSON.parse(text) : {meta: [], data: []};
        return {columns: found.meta.map((column) => column.name), rows: found.data};
    };
    session.query('SET output_format_json_quote_64bit_integers = 1');
    const close = () => {
        session.cleanup();
        fs.rmSync(folder, {recursive: true, force: true});
    };
    return {run, close};
}

async function main() {
    const engine = await {duckdb, clickhouse}[process.argv[2]]();
    const answers = [];
    for (const statement of JSON.parse(fs.readFileSync(0, 'utf8'))) {
        const begin = process.hrtime.bigint();
        let answer;
        try {
            answer = await engine.run(statement);
            answer.rows = answer.rows.map((row) => row.map((value) => value === null ? null : String(value)));
        } catch (error) {
            answer = {error: String(error.message || error)};
        }
        answer.ms = Number(process.hrtime.bigint() - begin) / 1e6;
        answers.push(answer);
    }
    engine.close();
    process.stdout.write(JSON.stringify(answers));
}

main();
